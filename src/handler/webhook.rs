//! `http = { … }`: a POST to the application, after the Standard Webhooks specification.
