//! The items of a batch, each read by itself.

use std::{borrow::Cow, marker::PhantomData};

use axum::extract::{FromRequest, Request};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, IgnoredAny},
};
use serde_json::{json, value::RawValue};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{ArrayBuilder, ObjectBuilder, Ref, RefOr, Schema, schema::AdditionalProperties},
};

use crate::{
    http::{
        decode,
        extract::{has_type, whole_body},
    },
    problem::{Code, Problem},
    values::{Invalid, PublicUrl, strict},
};

pub(in crate::http) const MAX_ITEMS: usize = 1000;

/// Why so many items are not taken, if they are not.
pub(in crate::http) fn wrong_count(count: usize) -> Option<Invalid> {
    if (1..=MAX_ITEMS).contains(&count) {
        return None;
    }
    let detail = format!("1 to {MAX_ITEMS} items are expected, and not {count}.");
    Some(Invalid::new("out_of_range", detail))
}

/// How a batch is written.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BatchParameters {
    /// `true`: all items are written, or none. `false`: each by itself.
    #[serde(default, deserialize_with = "strict::flag")]
    #[param(default = false)]
    pub atomic: bool,
}

/// The body of a batch of `T`s, as the document has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub struct BatchInput<T> {
    #[serde(rename = "items")]
    _items: Counted,
    #[serde(skip)]
    _of: PhantomData<T>,
}

/// As many items as a batch may have, whatever they are.
#[derive(Debug)]
struct Counted;

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let count = Vec::<IgnoredAny>::deserialize(deserializer)?.len();
        wrong_count(count).map_or(Ok(Self), |invalid| Err(D::Error::custom(invalid)))
    }
}

impl<T: ToSchema> PartialSchema for BatchInput<T> {
    fn schema() -> RefOr<Schema> {
        let items = ArrayBuilder::new()
            .items(Ref::from_schema_name(T::name()))
            .min_items(Some(1))
            .max_items(Some(MAX_ITEMS));
        let example = match T::schema() {
            RefOr::T(Schema::Object(item)) => item.examples.into_iter().chain(item.example).next(),
            _ => None,
        };
        let mut object = ObjectBuilder::new()
            .property("items", items)
            .required("items")
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
            .build();
        object.example = Some(json!({ "items": [example] }));
        Schema::Object(object).into()
    }
}

impl<T: ToSchema> ToSchema for BatchInput<T> {
    fn name() -> Cow<'static, str> {
        format!("{}Batch", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}

/// The items of a request, each read by itself: one that cannot be read is not the end of the others.
#[derive(Debug)]
pub struct Batch<T> {
    pub(super) items: Vec<Result<T, Problem>>,
    pub(super) public_url: PublicUrl,
}

impl<T, S> FromRequest<S> for Batch<T>
where
    T: DeserializeOwned + ToSchema,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Texts<'a> {
            #[serde(borrow)]
            items: Vec<&'a RawValue>,
        }

        if !has_type(request.headers(), "application/json")? {
            return Err(Code::UnsupportedMediaType.into());
        }
        let public_url = request.extensions().get().cloned().unwrap_or_default();
        let body = whole_body(request).await?;
        decode::body::<BatchInput<T>>(&body)?;
        let Texts { items } = serde_json::from_slice(&body).map_err(|_| Code::MalformedJson)?;
        let texts = items.iter().map(|text| text.get().as_bytes());
        Ok(Self {
            items: decode::bodies(texts).collect(),
            public_url,
        })
    }
}
