/** Where this replica is in its life. Readiness and the closing of connections follow from it. */
export class Lifecycle {
  phase: 'serving' | 'draining' | 'closing' = 'serving';
}
