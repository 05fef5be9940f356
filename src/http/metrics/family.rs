//! The figures of one metric, in the model of the library that writes them down.

use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};

use super::definition::{Definition, Kind};
use crate::model::Spread;
use crate::model::sums::BUCKETS;
use crate::model::time::SECOND;

/// The figures of one metric so far.
pub(super) struct Family {
    definition: Definition,
    metrics: Vec<Metric>,
}

impl Family {
    pub fn new(definition: Definition) -> Self {
        Self { definition, metrics: Vec::new() }
    }

    /// One figure; `values` are those of its labels, in their order.
    pub fn figure(mut self, values: &[&str], figure: f64) -> Self {
        let mut metric = self.metric(values);
        if self.definition.kind == Kind::Counter {
            let mut counter = Counter::default();
            counter.set_value(figure);
            metric.set_counter(counter);
        } else {
            let mut gauge = Gauge::default();
            gauge.set_value(figure);
            metric.set_gauge(gauge);
        }
        self.metrics.push(metric);
        self
    }

    /// A whole number.
    pub fn count(self, values: &[&str], count: impl TryInto<u64>) -> Self {
        #[allow(clippy::cast_precision_loss)] // exact below 2^53
        let figure = count.try_into().unwrap_or(0) as f64;
        self.figure(values, figure)
    }

    /// Durations.
    #[allow(clippy::cast_precision_loss)] // exact below 2^53
    pub fn spread(mut self, values: &[&str], spread: &Spread) -> Self {
        let seconds = |micros: u64| micros as f64 / SECOND as f64;
        let mut sum = 0;
        let bucket = |(bound, count): (&i64, &u64)| {
            sum += count;
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(seconds(bound.unsigned_abs()));
            bucket.set_cumulative_count(sum);
            bucket
        };
        let mut histogram = Histogram::default();
        histogram.set_bucket(BUCKETS.iter().zip(&spread.counts).map(bucket).collect());
        histogram.set_sample_count(spread.count());
        histogram.set_sample_sum(seconds(spread.sum));
        let mut metric = self.metric(values);
        metric.set_histogram(histogram);
        self.metrics.push(metric);
        self
    }

    fn metric(&self, values: &[&str]) -> Metric {
        let pair = |(name, value): (&&str, &&str)| {
            let mut pair = LabelPair::default();
            pair.set_name((*name).to_owned());
            pair.set_value((*value).to_owned());
            pair
        };
        Metric::from_label(self.definition.labels.iter().zip(values).map(pair).collect())
    }

    /// As the library has it; nothing if there is no figure.
    pub fn written(self) -> Option<MetricFamily> {
        if self.metrics.is_empty() {
            return None;
        }
        let mut family = MetricFamily::default();
        family.set_name(self.definition.name.to_owned());
        family.set_help(self.definition.help.to_owned());
        family.set_field_type(match self.definition.kind {
            Kind::Counter => MetricType::COUNTER,
            Kind::Gauge => MetricType::GAUGE,
            Kind::Histogram => MetricType::HISTOGRAM,
        });
        family.set_metric(self.metrics);
        Some(family)
    }
}
