/** A secret that is not part of logs and JSON: only `reveal` returns its text. */
export interface SigningSecret {
  reveal(): string;
}

/** Seals the signing secrets of webhooks for the database. The application provides the implementation. */
export abstract class WebhookSecrets {
  /** A secret that is sealed for one owner cannot be opened for another. */
  abstract seal(secret: SigningSecret, owner: string): Buffer;
  abstract open(sealed: Buffer, owner: string): SigningSecret;
}
