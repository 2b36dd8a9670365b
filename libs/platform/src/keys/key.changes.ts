/** Records changes of keys that happen at startup, without a request. The application provides the implementation. */
export abstract class KeyChanges {
  /** Must be called in the transaction of the change. */
  abstract recordAtStartup(action: 'key.adopted' | 'key.issued' | 'key.revoked', keyId: string): Promise<void>;
}
