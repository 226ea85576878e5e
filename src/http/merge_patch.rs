//! JSON merge patch (RFC 7396).

use std::marker::PhantomData;

use axum::extract::{FromRequest, Request};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use utoipa::{
    PartialSchema,
    openapi::{
        ObjectBuilder, RefOr, Schema, Type,
        schema::{OneOf, OneOfBuilder, SchemaType},
    },
};

use super::{
    decode,
    extract::{has_type, whole_body},
};
use crate::problem::{Code, Problem};

pub const MEDIA_TYPE: &str = "application/merge-patch+json";

/// A patch to what a `T` holds: an absent field keeps its value, null clears it, and an object is
/// merged into the object that is there.
#[derive(Debug)]
pub struct MergePatch<T> {
    fields: Map<String, Value>,
    to: PhantomData<T>,
}

impl<T: Target> MergePatch<T> {
    /// Applies the patch to `target`.
    ///
    /// # Errors
    /// [`Code::InvalidBody`] with every field of the result that is not valid.
    pub fn apply_to(&self, target: &T) -> Result<T, Problem> {
        // What came out of the database has a JSON form.
        let target = serde_json::to_value(target).unwrap_or_default();
        decode::value(merge(target, Value::Object(self.fields.clone())))
    }
}

/// The function of RFC 7396, section 2.
fn merge(target: Value, patch: Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch;
    };
    let mut target = match target {
        Value::Object(target) => target,
        _ => Map::new(),
    };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(&name);
        } else {
            let merged = merge(target.remove(&name).unwrap_or_default(), value);
            target.insert(name, merged);
        }
    }
    Value::Object(target)
}

impl<T, S> FromRequest<S> for MergePatch<T>
where
    T: Target,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        if !has_type(request.headers(), MEDIA_TYPE)? {
            return Err(Code::UnsupportedPatchType.into());
        }
        let body = whole_body(request).await?;
        Ok(Self {
            fields: decode::fields::<T>(&body, T::ALWAYS_THERE)?,
            to: PhantomData,
        })
    }
}

/// What a patch can be applied to.
pub trait Target: Serialize + DeserializeOwned + PartialSchema {
    /// Fields that cannot be cleared, besides those that the schema requires.
    const ALWAYS_THERE: &[&str];
}

/// Makes `$target` the target of patches, and names the schema of such a patch: none of its fields
/// is required, and those that can be cleared may be null.
#[macro_export]
macro_rules! patch_schema {
    ($name:ident, $target:ty, always_there: $always_there:expr) => {
        impl $crate::http::merge_patch::Target for $target {
            const ALWAYS_THERE: &[&str] = &$always_there;
        }

        #[doc = concat!("A merge patch to a [`", stringify!($target), "`], as the document has it.")]
        #[derive(Debug)]
        pub enum $name {}

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::http::merge_patch::schema::<$target>()
            }
        }

        impl utoipa::ToSchema for $name {
            fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
            ) {
                <$target as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}

/// The schema of a patch to a `T`.
#[must_use]
pub fn schema<T: Target>() -> RefOr<Schema> {
    let RefOr::T(Schema::Object(mut object)) = T::schema() else {
        return T::schema();
    };
    let mut always_there = std::mem::take(&mut object.required);
    always_there.extend(T::ALWAYS_THERE.iter().map(ToString::to_string));
    object.description = Some(
        "A JSON merge patch (RFC 7396): an absent field keeps its value, null clears it."
            .to_owned(),
    );
    for (name, property) in &mut object.properties {
        let value = value_of(property.clone());
        *property = if always_there.contains(name) {
            value
        } else {
            let null = ObjectBuilder::new().schema_type(Type::Null);
            OneOfBuilder::new().item(null).item(value).into()
        };
    }
    Schema::Object(object).into()
}

/// The schema without null, if it has that as one of two.
fn value_of(schema: RefOr<Schema>) -> RefOr<Schema> {
    let RefOr::T(Schema::OneOf(mut alternatives)) = schema else {
        return schema;
    };
    let null = |item: &RefOr<Schema>| {
        matches!(item, RefOr::T(Schema::Object(object))
            if object.schema_type == SchemaType::Type(Type::Null))
    };
    alternatives.items.retain(|item| !null(item));
    match <[_; 1]>::try_from(alternatives.items) {
        Ok([value]) => value,
        Err(items) => OneOfBuilder::from(OneOf {
            items,
            ..OneOf::default()
        })
        .into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// RFC 7396, appendix A.
    #[test]
    fn the_examples_of_the_rfc_hold() {
        for (target, patch, result) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"a": [{"b": "c"}]}),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"a": "foo"}), json!("bar"), json!("bar")),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!([1, 2]),
                json!({"a": "b", "c": null}),
                json!({"a": "b"}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            assert_eq!(
                merge(target.clone(), patch.clone()),
                result,
                "{target} + {patch}"
            );
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn has_null(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Object(map) => map.values().any(has_null),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_patch_applied_twice_is_the_patch_applied_once(target in any_json(), patch in any_json()) {
            let once = merge(target, patch.clone());
            prop_assert_eq!(merge(once.clone(), patch), once);
        }

        #[test]
        fn a_patch_without_null_is_in_the_result(target in any_json(), patch in any_json()) {
            prop_assume!(!has_null(&patch) && patch.is_object());
            let merged = merge(target, patch.clone());
            for (name, value) in patch.as_object().expect("an object") {
                if !value.is_object() {
                    prop_assert_eq!(&merged[name], value);
                }
            }
        }

        #[test]
        fn an_empty_patch_keeps_an_object(target in any_json()) {
            prop_assume!(target.is_object());
            prop_assert_eq!(merge(target.clone(), json!({})), target);
        }

        #[test]
        fn no_null_of_a_patch_is_in_the_result(patch in any_json()) {
            prop_assume!(patch.is_object());
            let merged = merge(json!({}), patch);
            prop_assert!(!has_null(&merged));
        }
    }
}
