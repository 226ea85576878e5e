//! A body that is one resource, or a list of them.

use std::borrow::Cow;

use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ArrayBuilder, OneOfBuilder, Ref, RefOr, Schema},
};

use super::{
    batch::{MAX_ITEMS, wrong_count},
    decode::{self, MAX_ERRORS},
    extract::{has_type, whole_body},
};
use crate::{
    problem::{Code, FieldError, Problem},
    values::Invalid,
};

/// One, or a list that is taken as a whole.
#[derive(Debug)]
pub enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T: DeserializeOwned + PartialSchema> OneOrMany<T> {
    fn parse(body: &[u8]) -> Result<Self, Problem> {
        if !body.trim_ascii_start().starts_with(b"[") {
            return decode::body(body).map(Self::One);
        }
        // What is no JSON is told as with any other body.
        let Ok(texts) = serde_json::from_slice::<Vec<&RawValue>>(body) else {
            return decode::body(body).map(Self::One);
        };
        if let Some(Invalid { code, detail }) = wrong_count(texts.len()) {
            return Err(refused(vec![FieldError::at_pointer([], code, detail)]));
        }
        let mut items = Vec::with_capacity(texts.len());
        let mut errors = Vec::new();
        let texts = texts.iter().map(|text| text.get().as_bytes());
        for (index, item) in decode::bodies(texts).enumerate() {
            match item {
                Ok(item) => items.push(item),
                // Where items begin and end is found without reading what is in them.
                Err(problem) if problem.code == Code::MalformedJson => {
                    return decode::body(body).map(Self::One);
                }
                Err(problem) => {
                    let steps = format!("/{index}");
                    errors.extend(problem.errors.into_iter().map(|error| error.within(&steps)));
                }
            }
            if errors.len() >= MAX_ERRORS {
                break;
            }
        }
        if errors.is_empty() {
            return Ok(Self::Many(items));
        }
        errors.truncate(MAX_ERRORS);
        Err(refused(errors))
    }
}

fn refused(errors: Vec<FieldError>) -> Problem {
    Problem::from(Code::InvalidBody).with_errors(errors)
}

impl<T, S> FromRequest<S> for OneOrMany<T>
where
    T: DeserializeOwned + PartialSchema,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        if !has_type(request.headers(), "application/json")? {
            return Err(Code::UnsupportedMediaType.into());
        }
        Self::parse(&whole_body(request).await?)
    }
}

impl<T: ToSchema> PartialSchema for OneOrMany<T> {
    fn schema() -> RefOr<Schema> {
        let one = || Ref::from_schema_name(T::name());
        let many = ArrayBuilder::new()
            .items(one())
            .min_items(Some(1))
            .max_items(Some(MAX_ITEMS));
        OneOfBuilder::new().item(one()).item(many).into()
    }
}

impl<T: ToSchema> ToSchema for OneOrMany<T> {
    fn name() -> Cow<'static, str> {
        format!("{}OrList", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}
