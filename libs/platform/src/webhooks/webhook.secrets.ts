/** A secret that does not appear in logs or JSON. Only `reveal` returns its text. */
export interface SigningSecret {
  reveal(): string;
}

/** Encrypts the signing secrets of webhooks for the database. The application provides the implementation. */
export abstract class WebhookSecrets {
  /** A secret that is encrypted for one owner cannot be decrypted for another owner. */
  abstract seal(secret: SigningSecret, owner: string): Buffer;
  abstract open(sealed: Buffer, owner: string): SigningSecret;
}
