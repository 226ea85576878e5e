//! Every problem that the service can answer with, in one table.

use axum::http::StatusCode;

use crate::values::PublicUrl;

/// One row of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub status: StatusCode,
    /// `lower_snake`, never changed once released.
    pub code: &'static str,
    /// The same for every occurrence (RFC 9457, section 3.1.3).
    pub title: &'static str,
    /// What the caller does next; stands as `detail` where an occurrence has nothing to add.
    pub advice: &'static str,
}

/// Makes the code, the list of all codes and their entries from one table, so that none can be left
/// out of another.
macro_rules! catalogue {
    ($($name:ident = ($status:ident, $code:literal, $title:literal, $advice:literal $(,)?);)+) => {
        /// What went wrong, by its stable code.
        ///
        /// The code is the contract: status, title and `type` URI follow from it, so that the
        /// answer, the document and the log cannot disagree.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($name,)+
        }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            #[must_use]
            pub const fn entry(self) -> Entry {
                match self {
                    $(Self::$name => Entry {
                        status: StatusCode::$status,
                        code: $code,
                        title: $title,
                        advice: $advice,
                    },)+
                }
            }
        }
    };
}

catalogue! {
    MalformedJson = (
        BAD_REQUEST,
        "malformed_json",
        "The body is not JSON",
        "Send one JSON document in UTF-8 (RFC 8259).",
    );
    InvalidParameter = (
        BAD_REQUEST,
        "invalid_parameter",
        "A parameter is not valid",
        "Correct the parameters that `errors` names.",
    );
    InvalidHeader = (
        BAD_REQUEST,
        "invalid_header",
        "A header field is not valid",
        "Correct the header fields that `errors` names.",
    );
    InvalidHost = (
        BAD_REQUEST,
        "invalid_host",
        "The request does not name its host",
        "Send one Host header field (RFC 9112, section 3.2).",
    );
    AccessKeyRequired = (
        UNAUTHORIZED,
        "access_key_required",
        "An access key is needed",
        "Send one as Authorization: Bearer; member-mail keys create makes the first.",
    );
    InvalidAccessKey = (
        UNAUTHORIZED,
        "invalid_access_key",
        "The access key opens nothing",
        "Send one that is neither expired nor revoked, as it was shown.",
    );
    InsufficientScope = (
        FORBIDDEN,
        "insufficient_scope",
        "The access key does not allow this",
        "Use one with all scopes that WWW-Authenticate names.",
    );
    ViewNotConfigured = (
        FORBIDDEN,
        "view_not_configured",
        "The view of the access key is not configured",
        "Nothing is shown to this key until the file of views has its view again.",
    );
    FieldHidden = (
        FORBIDDEN,
        "field_hidden",
        "The view hides what this asks for",
        "Leave out what `errors` names, or use an access key that sees it.",
    );
    UnknownHost = (
        MISDIRECTED_REQUEST,
        "unknown_host",
        "This service is not called by that name",
        "Call it by a name of its machine, or by one that its setting ALLOWED_HOSTS has.",
    );
    RouteNotFound = (
        NOT_FOUND,
        "route_not_found",
        "There is nothing at this path",
        "The paths of this service are listed in /api-docs/openapi.json.",
    );
    MemberNotFound = (
        NOT_FOUND,
        "member_not_found",
        "There is no such member",
        "The member does not exist, or no longer does.",
    );
    MailRecordNotFound = (
        NOT_FOUND,
        "mail_record_not_found",
        "There is no such mail record",
        "This member has no mail record with that id.",
    );
    ConsentNotFound = (
        NOT_FOUND,
        "consent_not_found",
        "There is no such consent",
        "This member has no consent with that id.",
    );
    SuppressionNotFound = (
        NOT_FOUND,
        "suppression_not_found",
        "There is no such suppression",
        "The suppression does not exist, or no longer does.",
    );
    MailEventNotFound = (
        NOT_FOUND,
        "mail_event_not_found",
        "There is no such event",
        "This mail record has no event with that id.",
    );
    AccessKeyNotFound = (
        NOT_FOUND,
        "access_key_not_found",
        "There is no such access key",
        "There never was one with that id.",
    );
    MethodNotAllowed = (
        METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "The method is not allowed here",
        "Use one of the methods in the Allow header.",
    );
    NotAcceptable = (
        NOT_ACCEPTABLE,
        "not_acceptable",
        "The answer is not there in a form that Accept names",
        "Accept one of the media types that the document lists for this path.",
    );
    RequestTimeout = (
        REQUEST_TIMEOUT,
        "request_timeout",
        "The request took too long to arrive",
        "Nothing was done; send the whole body in one go.",
    );
    EmailTaken = (
        CONFLICT,
        "email_taken",
        "Another member has this e-mail address",
        "Addresses are compared without regard to case; use another one, or that member.",
    );
    ExternalIdTaken = (
        CONFLICT,
        "external_id_taken",
        "The external id is taken",
        "Use another external_id, or the resource that has it.",
    );
    ProviderMessageIdTaken = (
        CONFLICT,
        "provider_message_id_taken",
        "The provider's message id is taken",
        "This member has a mail record with that provider and provider_message_id.",
    );
    ConfirmationRequired = (
        CONFLICT,
        "confirmation_required",
        "The suppression was made by a complaint",
        "Whoever complained must not be mailed again unasked; to delete it all the same, add confirm=true.",
    );
    InvalidTransition = (
        CONFLICT,
        "invalid_transition",
        "The mail record's status does not allow this",
        "Nothing was done; read the mail record for what became of the mail.",
    );
    NotEligible = (
        CONFLICT,
        "not_eligible",
        "The member must not be mailed",
        "Do not send the mail; `errors` has all that is in the way.",
    );
    AccessKeyEnded = (
        CONFLICT,
        "access_key_ended",
        "The access key is revoked or has expired",
        "Make another one.",
    );
    IdempotencyKeyInUse = (
        CONFLICT,
        "idempotency_key_in_use",
        "A request with this idempotency key is running",
        "Send the request again after Retry-After; it is answered as the running one was.",
    );
    AnswerErased = (
        GONE,
        "answer_erased",
        "The answer to this request was erased",
        "The request was done, and is not done again; its answer told of what is deleted since.",
    );
    PreconditionFailed = (
        PRECONDITION_FAILED,
        "precondition_failed",
        "The resource is not in the version that was asked for",
        "Read it again, and send the change with the ETag that it has now.",
    );
    ContentTooLarge = (
        PAYLOAD_TOO_LARGE,
        "content_too_large",
        "The body is too large",
        "Nothing was done; send less at a time.",
    );
    UriTooLong = (
        URI_TOO_LONG,
        "uri_too_long",
        "The URI is too long",
        "Shorten the path or the query.",
    );
    UnsupportedMediaType = (
        UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "The body's media type is not supported",
        "Send the body with Content-Type: application/json.",
    );
    UnsupportedContentCoding = (
        UNSUPPORTED_MEDIA_TYPE,
        "unsupported_content_coding",
        "The body is encoded",
        "Send the body as it is, without Content-Encoding.",
    );
    UnsupportedPatchType = (
        UNSUPPORTED_MEDIA_TYPE,
        "unsupported_patch_type",
        "The patch's media type is not supported",
        "Send a JSON merge patch (RFC 7396) with Content-Type: application/merge-patch+json.",
    );
    InvalidBody = (
        UNPROCESSABLE_ENTITY,
        "invalid_body",
        "The body is not valid",
        "Correct the fields that `errors` names.",
    );
    BatchRefused = (
        UNPROCESSABLE_ENTITY,
        "batch_refused",
        "The batch was not written",
        "Correct the items that `errors` names, or leave them out, and send the rest again.",
    );
    IdempotencyKeyReused = (
        UNPROCESSABLE_ENTITY,
        "idempotency_key_reused",
        "The idempotency key is of another request",
        "Use a key for one request only, and send that one again with the same query and body.",
    );
    PreconditionRequired = (
        PRECONDITION_REQUIRED,
        "precondition_required",
        "The write does not say which version it is meant for",
        "Send the ETag of the version that was read as If-Match.",
    );
    HeaderFieldsTooLarge = (
        REQUEST_HEADER_FIELDS_TOO_LARGE,
        "header_fields_too_large",
        "The request header is too large",
        "Send fewer or shorter header fields.",
    );
    RateLimited = (
        TOO_MANY_REQUESTS,
        "rate_limited",
        "Too many requests",
        "Nothing was done; try again after Retry-After, and not faster than RateLimit-Policy says.",
    );
    TooManyFailedSignIns = (
        TOO_MANY_REQUESTS,
        "too_many_failed_sign_ins",
        "Too many access keys from this address opened nothing",
        "Nothing was done; send a key that is good after Retry-After.",
    );
    InternalError = (
        INTERNAL_SERVER_ERROR,
        "internal_error",
        "The service failed",
        "This is a fault of the service; its log has more under the request id.",
    );
    DatabaseUnavailable = (
        SERVICE_UNAVAILABLE,
        "database_unavailable",
        "The database does not answer",
        "Try again after Retry-After.",
    );
    WriteConflict = (
        SERVICE_UNAVAILABLE,
        "write_conflict",
        "Other writes were in the way of this one",
        "Nothing was done; try again after Retry-After.",
    );
    TimedOut = (
        SERVICE_UNAVAILABLE,
        "timed_out",
        "The request took too long",
        "Try again after Retry-After; a write may have been done all the same, so read first.",
    );
    Overloaded = (
        SERVICE_UNAVAILABLE,
        "overloaded",
        "Too many requests are running",
        "Nothing was done; try again after Retry-After.",
    );
    TooManyStreams = (
        SERVICE_UNAVAILABLE,
        "too_many_streams",
        "Too many lists are being streamed",
        "Try again after Retry-After, or read the list page by page.",
    );
    NotReady = (
        SERVICE_UNAVAILABLE,
        "not_ready",
        "The service is not ready",
        "Send requests to another instance, or try again after Retry-After.",
    );
    ShuttingDown = (
        SERVICE_UNAVAILABLE,
        "shutting_down",
        "The service is shutting down",
        "Nothing was done; send the request again, it reaches another instance or the next.",
    );
}

impl Code {
    /// Whether the same request may succeed by waiting alone: an absence passes, a fault does not.
    #[must_use]
    pub(super) fn passes(self) -> bool {
        let absent = [
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::TOO_MANY_REQUESTS,
        ];
        self == Self::IdempotencyKeyInUse || absent.contains(&self.status())
    }

    #[must_use]
    pub const fn status(self) -> StatusCode {
        self.entry().status
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.entry().code
    }

    /// The `type` of the problem document.
    #[must_use]
    pub fn type_uri(self, public_url: &PublicUrl) -> String {
        public_url.reference(&format!("/problems/{}", self.as_str()))
    }
}
