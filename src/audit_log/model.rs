//! An entry of the audit log, and what entries are looked up by.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::values::{Line, Timestamp, strict};

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum AuditedResource {
    Member,
    MailRecord,
    MailEvent,
    Consent,
    Suppression,
    AccessKey,
}

/// That one resource was written.
#[derive(Debug, Clone, Serialize, ToSchema, sqlx::FromRow)]
#[schema(example = json!({
    "id": "018cc820-6f00-7000-8000-00000000000c",
    "at": "2024-01-02T08:30:00.000000Z",
    "key_id": "018cc251-f40a-7fff-8000-00000000000b",
    "request_id": "018cc820-6eff-7000-8000-00000000000d",
    "operation": "update_member",
    "resource": "member",
    "resource_id": "018cc251-f400-7000-8000-000000000001",
    "member_id": "018cc251-f400-7000-8000-000000000001",
    "fields": ["email", "name"]
}))]
pub struct AuditLogEntry {
    /// UUIDv7 (RFC 9562, section 5.7), given by the service.
    pub id: Uuid,
    /// When it was written.
    pub at: Timestamp,
    /// Id of the access key that it was written with. Null: none was needed, or it was written by the command
    /// line.
    #[schema(required)]
    pub key_id: Option<Uuid>,
    /// As `X-Request-Id` had it: given by the service, or the caller's own, which is kept. Null: it was written
    /// by the command line.
    #[schema(required)]
    pub request_id: Option<String>,
    /// The operation's id in the document.
    pub operation: String,
    pub resource: AuditedResource,
    pub resource_id: Uuid,
    /// The member whom it is about. Null: it is about none, or about an address, whoever has it.
    #[schema(required)]
    pub member_id: Option<Uuid>,
    /// The fields of the resource that the body named, sorted; their values are not kept. Empty where there was
    /// no body, and for what followed from a write.
    pub fields: Vec<String>,
}

/// Narrows the list.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditLogFilter {
    /// What was written with this access key.
    #[serde(default, deserialize_with = "strict::optional_id")]
    pub key_id: Option<Uuid>,
    /// What was written by this operation.
    #[serde(default)]
    #[param(inline)]
    pub operation: Option<Line<1, 100>>,
    /// What was written of this kind.
    #[serde(default, deserialize_with = "strict::optional_word")]
    pub resource: Option<AuditedResource>,
    /// What was written of this resource.
    #[serde(default, deserialize_with = "strict::optional_id")]
    pub resource_id: Option<Uuid>,
    /// What was written about this member.
    #[serde(default, deserialize_with = "strict::optional_id")]
    pub member_id: Option<Uuid>,
    /// What was written by this request.
    #[serde(default)]
    #[param(inline)]
    pub request_id: Option<Line<1, 64>>,
    /// What was written at this time or later.
    #[serde(default)]
    pub from: Option<Timestamp>,
    /// What was written before this time.
    #[serde(default)]
    pub to: Option<Timestamp>,
}
