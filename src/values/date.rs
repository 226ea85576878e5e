//! A day of the calendar and an instant, in the years 0001 to 9999.
//!
//! Postgres' `infinity`, and years that chrono does not have, make sqlx's own decoders panic. Here
//! they are decode errors.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Datelike, NaiveDate, SecondsFormat, SubsecRound, TimeDelta, Timelike, Utc};
use serde::{Deserialize, Serialize, Serializer};
use sqlx::{
    Postgres,
    decode::Decode,
    encode::{Encode, IsNull},
    error::BoxDynError,
    postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef},
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type},
};

use super::Invalid;

/// A day of the calendar, without a time and without a zone: `YYYY-MM-DD` (RFC 3339, section 5.6,
/// `full-date`), 0001-01-01 to 9999-12-31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Date(NaiveDate);

/// An instant (RFC 3339, section 5.6, `date-time`), in UTC and whole microseconds, in the years
/// 0001 to 9999.
///
/// Any offset is read, and the instant is kept in UTC. Digits beyond microseconds are cut off,
/// never rounded. Written as `YYYY-MM-DDTHH:MM:SS.ffffffZ`, always with six digits. A leap second
/// (`:60`) is refused: neither Postgres nor Unix time can hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Timestamp(DateTime<Utc>);

impl TryFrom<NaiveDate> for Date {
    type Error = Invalid;

    fn try_from(date: NaiveDate) -> Result<Self, Invalid> {
        if has_four_digits(date.year()) {
            Ok(Self(date))
        } else {
            Err(invalid_date())
        }
    }
}

impl FromStr for Date {
    type Err = Invalid;

    fn from_str(input: &str) -> Result<Self, Invalid> {
        // chrono's own parser also takes `1973-1-1` and signs.
        if !has_shape(input.as_bytes(), b"0000-00-00") {
            return Err(invalid_date());
        }
        let date = NaiveDate::parse_from_str(input, "%Y-%m-%d").map_err(|_| invalid_date())?;
        Self::try_from(date)
    }
}

impl From<Date> for NaiveDate {
    fn from(date: Date) -> Self {
        date.0
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<DateTime<Utc>> for Timestamp {
    type Error = Invalid;

    fn try_from(instant: DateTime<Utc>) -> Result<Self, Invalid> {
        // chrono writes a leap second as a second of more than a billion nanoseconds.
        if has_four_digits(instant.year()) && instant.nanosecond() < 1_000_000_000 {
            Ok(Self(instant.trunc_subsecs(6)))
        } else {
            Err(invalid_timestamp())
        }
    }
}

impl Timestamp {
    #[must_use]
    pub fn now() -> Self {
        Self(Utc::now().trunc_subsecs(6))
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(input: &str) -> Result<Self, Invalid> {
        // chrono's own parser also takes a space for the `T`.
        let day_and_time = input
            .as_bytes()
            .get(..19)
            .is_some_and(|start| has_shape(&start.to_ascii_uppercase(), b"0000-00-00T00:00:00"));
        if !day_and_time || !input.is_ascii() {
            return Err(invalid_timestamp());
        }
        let instant = DateTime::parse_from_rfc3339(input).map_err(|_| invalid_timestamp())?;
        Self::try_from(instant.to_utc())
    }
}

impl From<Timestamp> for DateTime<Utc> {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn has_four_digits(year: i32) -> bool {
    (1..=9999).contains(&year)
}

/// Whether `input` has a digit wherever `shape` has a 0, and the same octets elsewhere.
fn has_shape(input: &[u8], shape: &[u8]) -> bool {
    input.len() == shape.len()
        && input.iter().zip(shape).all(|(octet, wanted)| match wanted {
            b'0' => octet.is_ascii_digit(),
            _ => octet == wanted,
        })
}

fn invalid_date() -> Invalid {
    Invalid::new(
        "invalid_date",
        "A date has the form YYYY-MM-DD and is a day of the calendar, from 0001-01-01 to 9999-12-31.",
    )
}

fn invalid_timestamp() -> Invalid {
    Invalid::new(
        "invalid_timestamp",
        "A time has the form YYYY-MM-DDTHH:MM:SS, with Z or an offset (RFC 3339), in the years 0001 to 9999 and not in a \
         leap second. In a query string the + of an offset must be written as %2B.",
    )
}

/// The ways in and out that `Date` and `Timestamp` share. Both travel as what they wrap; only
/// decoding is our own.
macro_rules! calendar_value {
    ($name:ident($inner:ty), $format:ident, $description:literal) => {
        impl TryFrom<String> for $name {
            type Error = Invalid;

            fn try_from(input: String) -> Result<Self, Invalid> {
                input.parse()
            }
        }

        impl sqlx::Type<Postgres> for $name {
            fn type_info() -> PgTypeInfo {
                <$inner as sqlx::Type<Postgres>>::type_info()
            }
        }

        impl PgHasArrayType for $name {
            fn array_type_info() -> PgTypeInfo {
                <$inner as PgHasArrayType>::array_type_info()
            }
        }

        impl Encode<'_, Postgres> for $name {
            fn encode_by_ref(&self, buf: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
                self.0.encode_by_ref(buf)
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .format(Some(SchemaFormat::KnownFormat(KnownFormat::$format)))
                    .description(Some($description))
                    .into()
            }
        }

        impl ToSchema for $name {}
    };
}

calendar_value!(
    Date(NaiveDate),
    Date,
    "A day of the calendar, `YYYY-MM-DD` (RFC 3339, full-date), from 0001-01-01 to 9999-12-31."
);
calendar_value!(
    Timestamp(DateTime<Utc>),
    DateTime,
    "An instant (RFC 3339) in the years 0001 to 9999. Answered in UTC with microseconds; taken with any \
     offset, further digits cut off."
);

impl Decode<'_, Postgres> for Date {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => Ok(date_from_postgres(Decode::<Postgres>::decode(value)?)?),
            PgValueFormat::Text => Ok(value.as_str()?.parse()?),
        }
    }
}

impl Decode<'_, Postgres> for Timestamp {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => {
                Ok(timestamp_from_postgres(Decode::<Postgres>::decode(value)?)?)
            }
            // As text chrono parses it, which gives an error and no panic.
            PgValueFormat::Text => Ok(DateTime::<Utc>::decode(value)?.try_into()?),
        }
    }
}

/// From days since 2000-01-01; `infinity` is the largest and `-infinity` the smallest number.
fn date_from_postgres(days: i32) -> Result<Date, Invalid> {
    NaiveDate::from_ymd_opt(2000, 1, 1)
        .zip(TimeDelta::try_days(days.into()))
        .and_then(|(epoch, days)| epoch.checked_add_signed(days))
        .ok_or_else(invalid_date)?
        .try_into()
}

/// From microseconds since 2000-01-01T00:00:00Z; `infinity` is the largest and `-infinity` the
/// smallest number.
fn timestamp_from_postgres(micros: i64) -> Result<Timestamp, Invalid> {
    const EPOCH: i64 = 946_684_800_000_000;
    micros
        .checked_add(EPOCH)
        .and_then(DateTime::from_timestamp_micros)
        .ok_or_else(invalid_timestamp)?
        .try_into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn date(input: &str) -> Result<Date, &'static str> {
        input.parse().map_err(|refused: Invalid| refused.code)
    }

    fn timestamp(input: &str) -> Result<String, &'static str> {
        let parsed: Result<Timestamp, Invalid> = input.parse();
        parsed
            .map(|timestamp| timestamp.to_string())
            .map_err(|refused| refused.code)
    }

    #[test]
    fn a_date_comes_back_as_it_went_in() {
        for input in ["1973-11-01", "0001-01-01", "9999-12-31", "2000-02-29"] {
            let date: Date = serde_json::from_value(json!(input)).expect("valid");
            assert_eq!(serde_json::to_value(date).expect("valid"), json!(input));
            assert_eq!(date.to_string(), input);
        }
    }

    #[test]
    fn a_date_is_ten_characters_and_a_day_of_the_calendar() {
        for input in [
            "",
            "1973-11-01T00:00:00Z",
            "1973-1-1",
            "+1973-11-01",
            "1973-11-01 ",
            "19731101",
            "1973-11-0１",
            "0000-01-01",
            "10000-01-01",
            "1900-02-29",
            "1973-13-01",
            "infinity",
        ] {
            assert_eq!(date(input), Err("invalid_date"), "{input}");
        }
    }

    #[test]
    fn a_timestamp_is_kept_in_utc_with_six_digits() {
        for (input, written) in [
            ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00.000000Z"),
            ("2024-05-01T12:00:00.5+02:00", "2024-05-01T10:00:00.500000Z"),
            ("2024-05-01t12:00:00z", "2024-05-01T12:00:00.000000Z"),
            ("2024-05-01T12:00:00-00:00", "2024-05-01T12:00:00.000000Z"),
            (
                "1969-12-31T23:59:59.9999999Z",
                "1969-12-31T23:59:59.999999Z",
            ),
            (
                "2024-05-01T12:00:00.123456789123Z",
                "2024-05-01T12:00:00.123456Z",
            ),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
            (
                "9999-12-31T23:59:59.999999999Z",
                "9999-12-31T23:59:59.999999Z",
            ),
        ] {
            assert_eq!(timestamp(input).as_deref(), Ok(written));
        }
    }

    #[test]
    fn what_is_not_an_instant_of_rfc_3339_is_refused() {
        for input in [
            "",
            "2024-05-01",
            "2024-05-01T12:00:00",
            "2024-05-01 12:00:00Z",
            "2024-05-01T12:00:00+0200",
            "2024-05-01T12:00:00+24:00",
            "2024-05-01T12:00:00.Z",
            "2024-05-01T12:00:00\u{2212}02:00",
            "2024-02-30T12:00:00Z",
            "2024-05-01T24:00:00Z",
            "2016-12-31T23:59:60Z",
            "2016-12-31T18:59:60.5-05:00",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "0000-12-31T23:59:59Z",
            "+2024-05-01T12:00:00Z",
        ] {
            assert_eq!(timestamp(input), Err("invalid_timestamp"), "{input}");
        }
    }

    #[test]
    fn a_plus_that_a_query_string_decoded_to_a_space_is_refused_with_the_remedy() {
        let query = "2024-05-01T12:00:00+02:00".replace('+', " ");
        let refused = query.parse::<Timestamp>().expect_err("invalid");
        assert!(refused.detail.contains("%2B"));
    }

    #[test]
    fn infinity_from_the_database_is_an_error_and_no_panic() {
        for days in [i32::MAX, i32::MIN, i32::MAX - 1] {
            assert_eq!(date_from_postgres(days), Err(invalid_date()));
        }
        for micros in [i64::MAX, i64::MIN, i64::MAX - 1] {
            assert_eq!(timestamp_from_postgres(micros), Err(invalid_timestamp()));
        }
    }

    #[test]
    fn days_and_microseconds_count_from_the_year_2000() {
        assert_eq!(date_from_postgres(59), "2000-02-29".parse());
        assert_eq!(
            timestamp_from_postgres(-1),
            "1999-12-31T23:59:59.999999Z".parse()
        );
    }

    proptest! {
        #[test]
        fn every_date_parses_from_what_it_is_written_as(days in -730_119..=2_921_939) {
            let date = date_from_postgres(days).expect("valid");
            prop_assert_eq!(date.to_string().parse(), Ok(date));
        }

        #[test]
        fn every_timestamp_parses_from_what_it_is_written_as(
            micros in -63_082_281_600_000_000_i64..=252_455_615_999_999_999,
        ) {
            let timestamp = timestamp_from_postgres(micros).expect("valid");
            prop_assert_eq!(timestamp.to_string().len(), "YYYY-MM-DDTHH:MM:SS.ffffffZ".len());
            prop_assert_eq!(timestamp.to_string().parse(), Ok(timestamp));
        }

        #[test]
        fn any_text_is_answered_without_a_panic(input in "\\PC{0,40}") {
            let _ = (input.parse::<Date>(), input.parse::<Timestamp>());
        }
    }
}
