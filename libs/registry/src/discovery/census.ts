import { DESIRED_STATES, type AgentRecord, type HealthState } from '../agents/agent.record.js';
import type { CircuitPhase } from '../circuit/circuit.breaker.js';

const HEALTH: readonly HealthState[] = ['active', 'suspect'];
const PHASES: readonly CircuitPhase[] = ['closed', 'open', 'half_open'];

/** The number of live agents by status and health, and of their circuits by phase. Every combination has a number. */
export class Census {
  readonly circuits = new Map<string, number>(PHASES.map((phase) => [phase, 0]));
  private readonly byState = new Map<string, number>();

  constructor() {
    for (const health of HEALTH)
      for (const desired of DESIRED_STATES) this.byState.set(key(desired === 'active' ? health : desired, health), 0);
  }

  add({ status, health }: AgentRecord): void {
    const state = key(status, health.state ?? 'active');
    this.byState.set(state, (this.byState.get(state) ?? 0) + 1);
    const { circuitBreakerState } = health;
    this.circuits.set(circuitBreakerState, (this.circuits.get(circuitBreakerState) ?? 0) + 1);
  }

  agents(): { status: string; health: string; count: number }[] {
    return [...this.byState].map(([state, count]) => {
      const [status = '', health = ''] = state.split(' ');
      return { status, health, count };
    });
  }
}

function key(status: string, health: string): string {
  return `${status} ${health}`;
}
