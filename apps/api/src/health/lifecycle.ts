/** The phase of this replica. It decides about readiness, about new requests and about closing connections. */
export class Lifecycle {
  phase: 'serving' | 'draining' | 'closing' = 'serving';
}
