//! The `delay` parameter: a duration such as `1s`, `250ms` or `1m30.5s`.

use std::time::Duration;

/// The longest delay that is obeyed.
const LONGEST: Duration = Duration::from_secs(3600);

/// The delay that a query asks for; nothing if it asks for none or the text is no duration.
pub(crate) fn requested(query: &str) -> Option<Duration> {
    query.split('&').find_map(|pair| pair.strip_prefix("delay=")).and_then(parse)
}

pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.replace("%C2%B5", "u").replace('µ', "u");
    let mut rest = text.as_str();
    let mut seconds = 0.0_f64;
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (value, tail) = rest.split_at(number);
        let unit = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let scale = match unit {
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += value.parse::<f64>().ok()? * scale;
        rest = tail;
    }
    Duration::try_from_secs_f64(seconds).ok().map(|delay| delay.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    #[rstest]
    #[case("delay=1s", Some(1_000_000))]
    #[case("a=b&delay=250ms", Some(250_000))]
    #[case("delay=1m0.5s", Some(60_500_000))]
    #[case("delay=5us", Some(5))]
    #[case("delay=0", Some(0))]
    #[case("delay=", None)]
    #[case("delay=5", None)]
    #[case("delay=s", None)]
    #[case("delay=-1s", None)]
    #[case("delayed=1s", None)]
    #[case("delay=1000000h", Some(3_600_000_000))]
    fn durations(#[case] query: &str, #[case] micros: Option<u64>) {
        assert_eq!(super::requested(query), micros.map(Duration::from_micros));
    }
}
