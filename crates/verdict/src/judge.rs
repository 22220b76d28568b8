//! The one door: samples in, verdict out.

use patchmark_model::{Call, Direction, Effect, EffectUnit, Kpi, MetricName, SampleSet, Verdict};
use patchmark_stats::{Interval, Moments, fieller, welch};

use crate::Policy;
use crate::constant::{self, Constants};
use crate::resolution::resolution;

/// What the samples of `metric` support about head against base.
///
/// The effect is a percentage of the base's mean with Fieller's interval; points for shares
/// (profile shares, names that end in `%`); the metric's own unit where the base's mean may be
/// zero or is negative. Without an interval (fewer than two samples on a side) nothing is
/// called. Constants on both sides are compared exactly.
pub fn judge(
    base: &SampleSet,
    head: &SampleSet,
    metric: &MetricName,
    kpi: Option<&Kpi>,
    policy: &Policy,
) -> Verdict {
    let finding = Question { base, head, metric, kpi, policy }.answer();
    Verdict {
        call: finding.call,
        effect: finding.effect,
        base_coverage: (base.count(), base.runs()),
        head_coverage: (head.count(), head.runs()),
        reason: finding.reason,
    }
}

struct Question<'a> {
    base: &'a SampleSet,
    head: &'a SampleSet,
    metric: &'a MetricName,
    kpi: Option<&'a Kpi>,
    policy: &'a Policy,
}

struct Finding {
    call: Call,
    effect: Option<Effect>,
    reason: String,
}

impl Question<'_> {
    fn answer(&self) -> Finding {
        let (base, head) = (self.base.present(), self.head.present());
        let (Some(base), Some(head)) = (Moments::of(&base), Moments::of(&head)) else {
            return self.withheld(self.absence());
        };
        if !(head.mean - base.mean).is_finite() {
            return self.withheld("the values are too large to compare".to_owned());
        }
        if let Some(reason) = self.coverage_gap() {
            return self.withheld(reason);
        }
        if base.n < 2 || head.n < 2 {
            return self.single(&base, &head);
        }
        let mut finding = if base.variance == 0.0 && head.variance == 0.0 {
            self.constants(&base, &head)
        } else {
            self.noisy(self.with_floor(base), self.with_floor(head))
        };
        if self.base.count() < self.base.runs() || self.head.count() < self.head.runs() {
            finding.reason = format!("{}; {}", finding.reason, self.coverage());
        }
        finding
    }

    fn withheld(&self, reason: String) -> Finding {
        Finding { call: Call::Unsure, effect: None, reason }
    }

    fn absence(&self) -> String {
        match (self.base, self.head) {
            (base, head) if base.runs() == 0 || head.runs() == 0 => {
                let side = if base.runs() == 0 { "base" } else { "head" };
                format!("no run of the {side} ended well")
            }
            (base, head) if base.count() == 0 && head.count() == 0 => {
                "absent on both sides".to_owned()
            }
            (base, _) if base.count() == 0 => "absent in every run of the base".to_owned(),
            _ => "absent in every run of the head".to_owned(),
        }
    }

    /// A reason to withhold the difference: one side lacks the metric much more often, and what
    /// is left of it is no fair sample.
    fn coverage_gap(&self) -> Option<String> {
        let share = |set: &SampleSet| set.count() as f64 / set.runs().max(1) as f64;
        let gap = (share(self.base) - share(self.head)).abs();
        (gap > self.policy.coverage_gap)
            .then(|| format!("the sides lack it in different degrees: {}", self.coverage()))
    }

    fn coverage(&self) -> String {
        format!(
            "in {} of {} runs of the base and {} of {} of the head",
            self.base.count(),
            self.base.runs(),
            self.head.count(),
            self.head.runs()
        )
    }

    fn single(&self, base: &Moments, head: &Moments) -> Finding {
        let side = match (base.n < 2, head.n < 2) {
            (true, true) => "each side",
            (true, false) => "the base",
            _ => "the head",
        };
        Finding {
            call: Call::Unsure,
            effect: Some(self.effect(base, head)),
            reason: format!("one run of {side} has it: no interval without a second"),
        }
    }

    fn constants(&self, base: &Moments, head: &Moments) -> Finding {
        let exact = self.effect(base, head);
        let exact = Effect { low: Some(exact.estimate), high: Some(exact.estimate), ..exact };
        match constant::compare(base.mean, head.mean) {
            Constants::Same => Finding {
                call: Call::Unchanged,
                effect: Some(exact),
                reason: "the same value in every run".to_owned(),
            },
            Constants::OneStep(step) => Finding {
                call: Call::Unsure,
                effect: Some(Effect { low: None, high: None, ..exact }),
                reason: format!("the sides differ by one step of the metric's resolution ({step})"),
            },
            Constants::Apart => {
                let mut finding = self.call(exact, base, head);
                if finding.call != Call::Unchanged {
                    finding.reason = "the same value in every run of a side: exact".to_owned();
                }
                finding
            }
        }
    }

    /// A side whose values happen to be equal is not free of error: the values were rounded to
    /// the metric's resolution q, which has the variance q^2/12 of the uniform distribution.
    fn with_floor(&self, moments: Moments) -> Moments {
        if moments.variance > 0.0 {
            return moments;
        }
        let step = resolution(self.base.0.iter().chain(&self.head.0).flatten().copied());
        Moments { variance: step * step / 12.0, ..moments }
    }

    fn noisy(&self, base: Moments, head: Moments) -> Finding {
        let test = welch(&base, &head);
        let quantile = test.and_then(|test| test.quantile(self.confidence()));
        let (Some(test), Some(quantile)) = (test, quantile) else {
            return Finding {
                call: Call::Unsure,
                effect: Some(self.effect(&base, &head)),
                reason: "the samples allow no interval".to_owned(),
            };
        };
        let difference = test.interval_at(quantile);
        let effect = self
            .percent(&base, &head, quantile)
            .unwrap_or_else(|| self.absolute(&base, &head, Some(difference)));
        self.call(effect, &base, &head)
    }

    /// The effect in percent of the base, with its interval; `None` where a percentage says
    /// nothing.
    fn percent(&self, base: &Moments, head: &Moments, quantile: f64) -> Option<Effect> {
        let effect = self.effect(base, head);
        let interval = fieller(base, head, quantile)?.interval;
        let percent = |ratio: f64| Some(100.0 * (ratio - 1.0)).filter(|x| x.is_finite());
        let (low, high) = (percent(interval.low)?, percent(interval.high)?);
        (effect.unit == EffectUnit::Percent).then_some(Effect {
            low: Some(low),
            high: Some(high),
            ..effect
        })
    }

    /// Whether a percentage of the base says something.
    fn is_percentage(&self, base: &Moments) -> bool {
        !self.metric.is_share() && base.mean > 0.0
    }

    /// The plain difference, in the metric's own unit.
    fn absolute(&self, base: &Moments, head: &Moments, interval: Option<Interval>) -> Effect {
        Effect {
            unit: EffectUnit::Absolute,
            estimate: head.mean - base.mean,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            confidence: self.confidence(),
        }
    }

    /// The difference in its proper unit, without an interval.
    fn effect(&self, base: &Moments, head: &Moments) -> Effect {
        let absolute = self.absolute(base, head, None);
        let percent = 100.0 * (head.mean - base.mean) / base.mean;
        if !self.is_percentage(base) || !percent.is_finite() {
            return absolute;
        }
        Effect { unit: EffectUnit::Percent, estimate: percent, ..absolute }
    }

    fn confidence(&self) -> f64 {
        if self.kpi.is_some() { self.policy.kpi_confidence } else { self.policy.other_confidence }
    }

    fn call(&self, effect: Effect, base: &Moments, head: &Moments) -> Finding {
        let limit = self.smallest(&effect, base, head);
        let (call, reason) = match (effect.low, effect.high) {
            (Some(low), Some(high)) if -limit <= low && high <= limit => {
                (Call::Unchanged, format!("any change is within {}", self.smallest_words()))
            }
            (Some(low), Some(high)) if low > 0.0 || high < 0.0 => {
                (self.direction(effect.estimate), "the interval excludes no change".to_owned())
            }
            _ => (
                Call::Unsure,
                format!(
                    "the interval includes no change and reaches beyond {}",
                    self.smallest_words()
                ),
            ),
        };
        Finding { call, effect: Some(effect), reason }
    }

    /// The smallest effect that matters, in the effect's unit.
    fn smallest(&self, effect: &Effect, base: &Moments, head: &Moments) -> f64 {
        match effect.unit {
            EffectUnit::Percent => self.policy.smallest_percent,
            EffectUnit::Absolute if self.metric.is_share() => self.policy.smallest_points,
            EffectUnit::Absolute => {
                self.policy.smallest_percent / 100.0 * base.mean.abs().max(head.mean.abs())
            }
        }
    }

    fn smallest_words(&self) -> String {
        if self.metric.is_share() {
            format!("{} points", self.policy.smallest_points)
        } else {
            format!("{}%", self.policy.smallest_percent)
        }
    }

    fn direction(&self, estimate: f64) -> Call {
        match self.kpi.and_then(|kpi| kpi.direction) {
            None => Call::Changed,
            Some(direction) if (direction == Direction::Higher) == (estimate > 0.0) => Call::Better,
            Some(_) => Call::Worse,
        }
    }
}
