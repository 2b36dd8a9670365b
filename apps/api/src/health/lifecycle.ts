/** The phase of this replica. It determines readiness, and whether requests are accepted and connections are kept. */
export class Lifecycle {
  phase: 'serving' | 'draining' | 'closing' = 'serving';
}
