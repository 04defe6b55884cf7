//! Whole numbers, as JSON writes numbers.

/// The value of a number that is whole and has at most 20 digits: `1`, `1.0`, `0.1e1` and `-0` are whole. Every number
/// of 64 bits is among them.
pub fn whole(written: &str) -> Option<i128> {
    // Most numbers are digits and nothing else.
    if written.len() <= 20
        && let Ok(number) = written.parse()
    {
        return Some(number);
    }
    let (negative, written) = match written.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, written),
    };
    let (digits, exponent) = written.split_once(['e', 'E']).unwrap_or((written, "0"));
    let (front, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = format!("{front}{fraction}");
    let significant = digits.trim_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // An exponent that does not fit is far from any number of 64 bits.
    let exponent: i64 = exponent.parse().ok()?;
    let zeros = i64::try_from(digits.len() - digits.trim_end_matches('0').len()).ok()?;
    let exponent = exponent.checked_add(zeros)?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let exponent = u32::try_from(exponent).ok().filter(|exponent| *exponent < 20)?;
    if significant.len() > 20 {
        return None;
    }
    let value = significant.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(exponent)?)?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn a_number_is_whole_however_it_is_written() {
        for written in ["1", "1.0", "0.1e1", "10e-1", "1E0", "1.000", "100e-2", "0.001e+3"] {
            assert_eq!(whole(written), Some(1), "{written}");
        }
        for written in ["0", "-0", "0.0", "0e99999999999999999999", "-0.0e-5"] {
            assert_eq!(whole(written), Some(0), "{written}");
        }
        for written in ["1.5", "15e-1", "1e-1", "0.5", "1e400", "1e-400", "1e99999999999999999999"] {
            assert_eq!(whole(written), None, "{written}");
        }
    }

    #[test]
    fn no_digit_is_lost() {
        assert_eq!(whole("-9223372036854775808"), Some(i128::from(i64::MIN)));
        assert_eq!(whole("18446744073709551615"), Some(i128::from(u64::MAX)));
        assert_eq!(whole("1844674407370955161.5e1"), Some(i128::from(u64::MAX)));
        assert_eq!(whole("9007199254740993.0"), Some(9_007_199_254_740_993));
        assert_eq!(whole(&"9".repeat(1000)), None);
    }
}
