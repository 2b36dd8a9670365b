/** Records changes of keys that happen at startup, without a request. The application provides the implementation. */
export abstract class KeyChanges {
  /** The caller calls it in the transaction of the change. */
  abstract recordStart(action: 'key.adopted' | 'key.issued' | 'key.revoked', keyId: string): Promise<void>;
}
