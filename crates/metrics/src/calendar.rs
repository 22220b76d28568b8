//! Dates to seconds since the epoch (proleptic Gregorian calendar, UTC).

/// Seconds since the epoch of `2026-11-30` and `20:30:04`.
pub(crate) fn epoch(date: &str, time: &str) -> Option<f64> {
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let in_range = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    let seconds = hour * 3600 + minute * 60 + second;
    in_range.then(|| (days_from_epoch(year, month, day) * 86_400 + seconds) as f64)
}

/// Seconds since the epoch of `2013-04-02T13:58:40+0800`.
pub(crate) fn epoch_with_offset(stamp: &str) -> Option<f64> {
    let (date, rest) = stamp.split_once('T')?;
    let (time, offset) = rest.split_at(rest.find(['+', '-'])?);
    let sign = if offset.starts_with('-') { -1.0 } else { 1.0 };
    let digits = offset.get(1..)?;
    let digits = if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits } else { "" };
    let hours: f64 = digits.get(..2)?.parse().ok()?;
    let minutes: f64 = digits.get(2..)?.parse().ok()?;
    Some(epoch(date, time)? - sign * (hours * 3600.0 + minutes * 60.0))
}

/// Seconds since midnight of `15:48:24`.
pub(crate) fn time_of_day(time: &str) -> Option<f64> {
    epoch("1970-01-01", time)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if digits { part.parse().ok() } else { None }
    });
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}

/// Howard Hinnant, "chrono-compatible low-level date algorithms", `days_from_civil`.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_what_date_u_says() {
        assert_eq!(epoch("1970-01-01", "00:00:00"), Some(0.0));
        assert_eq!(epoch("2026-11-30", "20:30:04"), Some(1_796_070_604.0));
        assert_eq!(epoch("2024-02-29", "23:59:59"), Some(1_709_251_199.0));
        assert_eq!(epoch_with_offset("1970-01-01T02:30:00+0230"), Some(0.0));
        assert_eq!(epoch_with_offset("1970-01-01T00:00:00-0100"), Some(3600.0));
        assert_eq!(epoch_with_offset("1970-01-01T00:00:00+é"), None);
        for (date, time) in [("", ""), ("2026-13-01", "0:0:0"), ("2026-1-1", "24:0:0")] {
            assert_eq!(epoch(date, time), None);
        }
    }
}
