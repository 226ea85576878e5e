//! The deletion of a member, and of all that tells of her.
//!
//! What stays is that her address must not be mailed, by its hash alone: whoever adds it again finds it
//! as it was.

use sqlx::{PgConnection, PgPool, query_as, query_scalar, types::Json};
use uuid::Uuid;

use crate::{
    http::{audit::Audit, conditional::Guard, idempotency},
    mail_records,
    members::model::ExternalId,
    suppressions::{
        self,
        model::{NewSuppression, SuppressionOrigin, SuppressionReason, SuppressionScope},
    },
    values::EmailAddress,
};

/// A member who is to be deleted.
struct Leaving {
    id: Uuid,
    email: Option<EmailAddress>,
    former_email_hashes: Vec<Vec<u8>>,
    /// Whole or on some topic: which is not to be known any more, so that it counts for all.
    refused_marketing: bool,
}

/// A checked query for the member whom `$key` names by `$1`, in one of the versions that the guard lets
/// through. Nobody adds anything to her any more until the transaction ends.
macro_rules! query_leaving {
    ($key:tt, $named:expr, $guard:expr) => {
        query_as!(
            Leaving,
            r#"SELECT id, email as "email: EmailAddress",
                   array_remove(former_email_hashes, NULL) AS "former_email_hashes!",
                   EXISTS (
                       SELECT FROM present_consents c
                       WHERE c.member_id = members.id AND c.state = 'withdrawn'
                   ) AS "refused_marketing!"
               FROM members
               WHERE "#
                + $key
                + " = $1 AND ($2::bigint[] IS NULL OR version = ANY ($2)) AND version <> ALL ($3)
                 FOR UPDATE",
            $named,
            $guard.only.as_deref(),
            &$guard.except,
        )
    };
}

/// Deletes a member in one of the versions that `guard` lets through.
pub(in crate::members) async fn delete(
    pool: &PgPool,
    id: Uuid,
    guard: &Guard,
    audit: &Audit,
) -> sqlx::Result<bool> {
    let mut transaction = pool.begin().await?;
    let leaving = query_leaving!("id", id, guard)
        .fetch_optional(&mut *transaction)
        .await?;
    if let Some(member) = &leaving {
        erase(&mut transaction, member, audit).await?;
    }
    transaction.commit().await?;
    Ok(leaving.is_some())
}

pub(in crate::members) async fn delete_by_external_id(
    pool: &PgPool,
    external_id: &ExternalId,
    guard: &Guard,
    audit: &Audit,
) -> sqlx::Result<bool> {
    let mut transaction = pool.begin().await?;
    let leaving = query_leaving!("external_id", external_id.as_str(), guard)
        .fetch_optional(&mut *transaction)
        .await?;
    if let Some(member) = &leaving {
        erase(&mut transaction, member, audit).await?;
    }
    transaction.commit().await?;
    Ok(leaving.is_some())
}

async fn erase(connection: &mut PgConnection, member: &Leaving, audit: &Audit) -> sqlx::Result<()> {
    if let Some(address) = &member.email
        && member.refused_marketing
    {
        let unsubscribed = NewSuppression {
            address: address.clone(),
            reason: SuppressionReason::Unsubscribe,
            scope: SuppressionScope::Marketing,
            origin: SuppressionOrigin::Api,
            source_mail_record_id: None,
            expires_at: None,
        };
        let audit = audit.of_consequence();
        suppressions::queries::add(&mut *connection, &unsubscribed, &audit).await?;
    }
    // By itself and not by the foreign key: it waits for those who report what became of her mail, so that
    // what they suppress is there to be erased.
    let mail = mail_records::queries::delete_of_member(&mut *connection, member.id).await?;
    query_scalar!(
        "DELETE FROM members WHERE id = $1 RETURNING record_write($2, 'member', id, id)",
        member.id,
        Json(audit) as _,
    )
    .fetch_one(&mut *connection)
    .await?;
    let own = member.email.as_ref().map(EmailAddress::folded);
    let addresses: Vec<_> = mail.recipients.into_iter().chain(own).collect();
    let suppressions = suppressions::queries::erase(
        &mut *connection,
        &addresses,
        &member.former_email_hashes,
        &mail.ids,
    )
    .await?;
    let told: Vec<_> = [vec![member.id], mail.ids, suppressions].concat();
    idempotency::erase(&mut *connection, &told).await
}
