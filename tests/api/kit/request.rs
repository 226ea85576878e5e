//! A request, and the client that sends it.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    HeaderMap, Method, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue},
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;

use super::{Answer, streamed::Streamed};

pub(crate) type HttpClient = Client<HttpConnector, Full<Bytes>>;

pub(crate) fn client() -> HttpClient {
    Client::builder(TokioExecutor::new()).build_http()
}

/// A request that is being put together.
pub(crate) struct Request {
    client: HttpClient,
    pub(crate) method: Method,
    url: String,
    headers: HeaderMap,
    /// Of a body of JSON.
    media_type: String,
    body: Bytes,
}

impl Request {
    pub(crate) fn new(client: &HttpClient, method: Method, url: String) -> Self {
        Self {
            client: client.clone(),
            method,
            url,
            headers: HeaderMap::new(),
            media_type: "application/json".to_owned(),
            body: Bytes::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name: HeaderName = name.parse().expect("a field's name");
        let value = HeaderValue::from_bytes(value.as_ref()).expect("a field's value");
        self.headers.append(name, value);
        self
    }

    /// Sends this key instead of the one that the service's requests carry.
    pub(crate) fn with_key(self, key: &str) -> Self {
        self.without_key()
            .header(AUTHORIZATION.as_str(), format!("Bearer {key}"))
    }

    pub(crate) fn without_key(mut self) -> Self {
        self.headers.remove(AUTHORIZATION);
        self
    }

    /// Says which kind of JSON is sent.
    pub(crate) fn of_type(mut self, media_type: &str) -> Self {
        media_type.clone_into(&mut self.media_type);
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        let media_type = self.media_type.clone();
        self.header(CONTENT_TYPE.as_str(), media_type)
            .body(body.to_string())
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn path(&self) -> &str {
        let (_, behind) = self.url.split_once("://").expect("a URL");
        let path = behind.find('/').map_or("/", |at| &behind[at..]);
        path.split('?').next().unwrap_or(path)
    }

    /// Sends the request and reads the whole answer, which must be as the document has it.
    pub(crate) async fn send(self) -> Answer {
        let asked = format!("{} {}", self.method, self.url);
        let (method, path) = (self.method.clone(), self.path().to_owned());
        let (status, headers, bytes) = self
            .exchange()
            .await
            .unwrap_or_else(|error| panic!("{asked}: {error}"));
        Answer::new(asked, &method, &path, status, headers, &bytes)
    }

    /// Sends the request and reads the header of the answer; the body is read as it comes.
    pub(crate) async fn open(self) -> Streamed {
        let mut request = hyper::Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = self.url.parse().expect("a URL");
        *request.headers_mut() = self.headers;
        let response = self.client.request(request).await.expect("an answer");
        Streamed::new(response)
    }

    /// Sends the request, whatever comes of it.
    pub(crate) async fn exchange(
        self,
    ) -> Result<(StatusCode, HeaderMap, Bytes), Box<dyn std::error::Error + Send + Sync>> {
        let mut request = hyper::Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = self.url.parse()?;
        *request.headers_mut() = self.headers;
        let response = self.client.request(request).await?;
        let (parts, body) = response.into_parts();
        Ok((
            parts.status,
            parts.headers,
            body.collect().await?.to_bytes(),
        ))
    }
}
