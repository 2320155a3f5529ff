//! Small plots: bars of block letters for the terminal, a line of SVG for a page.

use std::fmt::Write as _;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How wide a step of a line is, and how high the plot.
const STEP: f64 = 8.0;
const HEIGHT: f64 = 22.0;

/// Where a value stands between the two ends, from 0 to 1.
fn share(value: f64, (low, high): (f64, f64)) -> f64 {
    if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
}

/// One letter for each value; a point where there is none.
pub(super) fn bars(values: &[Option<f64>], ends: (f64, f64)) -> String {
    let bar = |value: &Option<f64>| match value {
        None => '·',
        Some(value) => BARS[(share(*value, ends) * (BARS.len() - 1) as f64).round() as usize],
    };
    values.iter().map(bar).collect()
}

/// From nothing to the largest.
pub(super) fn from_zero(values: &[Option<f64>]) -> (f64, f64) {
    (0.0, values.iter().flatten().copied().fold(0.0, f64::max))
}

/// A line through the values, broken where there is none. `words` say what it shows, to those who do not see it.
pub(super) fn line(values: &[Option<f64>], ends: (f64, f64), words: &str) -> String {
    let width = STEP * values.len().max(1) as f64;
    let mut out = format!(
        "<svg class=\"plot\" width=\"{width}\" height=\"{HEIGHT}\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\"{words}\">"
    );
    let place = |index: usize, value: f64| {
        let (x, y) = (STEP * (index as f64 + 0.5), (HEIGHT - 4.0) * (1.0 - share(value, ends)) + 2.0);
        format!("{x:.1},{y:.1}")
    };
    let mut index = 0;
    for part in values.split(Option::is_none) {
        let points: Vec<String> =
            part.iter().flatten().enumerate().map(|(at, value)| place(index + at, *value)).collect();
        match &points[..] {
            [] => {}
            [one] => {
                let (x, y) = one.split_once(',').unwrap_or_default();
                let _ = write!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"2\"/>");
            }
            _ => {
                let _ = write!(out, "<polyline points=\"{}\"/>", points.join(" "));
            }
        }
        index += part.len() + 1;
    }
    out.push_str("</svg>");
    out
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none(&[], "")]
    #[case::rising(&[Some(0.0), Some(50.0), Some(100.0)], "▁▅█")]
    #[case::a_hole(&[Some(100.0), None, Some(0.0)], "█·▁")]
    #[case::all_the_same(&[Some(7.0), Some(7.0)], "██")]
    #[case::nothing(&[Some(0.0), Some(0.0)], "▁▁")]
    fn a_letter_a_value(#[case] values: &[Option<f64>], #[case] expected: &str) {
        assert_eq!(bars(values, from_zero(values)), expected);
    }

    #[test]
    fn a_line_is_broken_where_nothing_is_known() {
        let values = [Some(1.0), Some(0.0), None, Some(1.0)];
        let drawn = line(&values, (0.0, 1.0), "words");
        assert!(
            drawn.contains("<polyline points=\"4.0,2.0 12.0,20.0\"/><circle cx=\"28.0\" cy=\"2.0\" r=\"2\"/>"),
            "{drawn}"
        );
    }
}
