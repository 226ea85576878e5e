//! A mail record of a batch, which says itself whom it was for.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer,
    },
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type},
};
use uuid::Uuid;

use super::model::MailRecordInput;
use crate::values::strict;

/// A mail record of a batch, and whom it was for.
#[derive(Debug)]
pub(super) struct MailRecordItem {
    pub(super) member_id: Uuid,
    pub(super) record: MailRecordInput,
}

const MEMBER_ID: &str = "member_id";

/// Takes the member's id out, and reads the rest as it comes: serde's own `flatten` neither refuses
/// unknown fields nor says where an error lies.
impl<'de> Deserialize<'de> for MailRecordItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Item;

        impl<'de> Visitor<'de> for Item {
            type Value = MailRecordItem;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<MailRecordItem, A::Error> {
                let mut member_id = None;
                let rest = Rest {
                    fields,
                    member_id: &mut member_id,
                };
                let record = MailRecordInput::deserialize(MapAccessDeserializer::new(rest))?;
                let member_id = member_id.ok_or_else(|| A::Error::missing_field(MEMBER_ID))?;
                Ok(MailRecordItem { member_id, record })
            }
        }

        deserializer.deserialize_map(Item)
    }
}

/// The fields of an item but for the member's id, which goes where it belongs.
struct Rest<'a, A> {
    fields: A,
    member_id: &'a mut Option<Uuid>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.fields.next_key::<String>()? {
            if name != MEMBER_ID {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
            let Id(id) = self.fields.next_value()?;
            if self.member_id.replace(id).is_some() {
                return Err(A::Error::duplicate_field(MEMBER_ID));
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.fields.next_value_seed(seed)
    }
}

#[derive(Deserialize)]
struct Id(#[serde(deserialize_with = "strict::id")] Uuid);

impl PartialSchema for MailRecordItem {
    fn schema() -> RefOr<Schema> {
        let RefOr::T(Schema::Object(mut object)) = MailRecordInput::schema() else {
            return MailRecordInput::schema();
        };
        let example = "018cc251-f400-7000-8000-000000000001";
        let member_id = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
            .description(Some("Whom the mail is for."));
        object.description = Some("A mail record of a batch, and whom it is for.".to_owned());
        object.required.push(MEMBER_ID.to_owned());
        object
            .properties
            .insert(MEMBER_ID.to_owned(), member_id.into());
        if let Some(fields) = object
            .example
            .as_mut()
            .and_then(|example| example.as_object_mut())
        {
            fields.insert(MEMBER_ID.to_owned(), example.into());
        }
        Schema::Object(object).into()
    }
}

impl ToSchema for MailRecordItem {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        MailRecordInput::schemas(schemas);
    }
}
