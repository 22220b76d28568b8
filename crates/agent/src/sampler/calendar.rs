//! Dates and times of day in UTC, as vmstat and mpstat write them.

use std::time::Duration;

/// A moment on the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: u64,
    pub(crate) minute: u64,
    pub(crate) second: u64,
}

impl Civil {
    /// The moment a time since the epoch is, in UTC. After Howard Hinnant's
    /// "chrono-Compatible Low-Level Date Algorithms": years begin in March, so that the leap day
    /// is the last of its year; an era has 400 years.
    pub(crate) fn of(since_epoch: Duration) -> Civil {
        let seconds = since_epoch.as_secs();
        let days = i64::try_from(seconds / 86_400).unwrap_or(0) + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Civil {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: seconds % 86_400 / 3600,
            minute: seconds % 3600 / 60,
            second: seconds % 60,
        }
    }

    /// `2026-11-30`
    pub(crate) fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// `20:30:04`
    pub(crate) fn time_of_day(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        let text = |seconds| {
            let civil = Civil::of(Duration::from_secs(seconds));
            format!("{} {}", civil.date(), civil.time_of_day())
        };
        assert_eq!(text(0), "1970-01-01 00:00:00");
        assert_eq!(text(951_827_696), "2000-02-29 12:34:56");
        assert_eq!(text(1_796_070_604), "2026-11-30 20:30:04");
        assert_eq!(text(4_107_542_399), "2100-02-28 23:59:59");
        assert_eq!(text(4_107_542_400), "2100-03-01 00:00:00");
    }
}
