import { RuntimeError } from '../errors.js';

/** The agent has as many calls in progress as its definition allows. */
export class AgentBusyError extends RuntimeError {
  readonly code = 'AGENT_BUSY';

  constructor(name: string, limit: number) {
    super(`The agent ${show(name)} has ${limit} calls in progress, which is its maxConcurrency. Try again later.`);
  }
}

/** The replica stops, or all agents are being shut down. */
export class AgentsStoppingError extends RuntimeError {
  readonly code = 'AGENTS_STOPPING';

  constructor() {
    super('All agents are being shut down. Try again when the shutdown has ended, or use another replica.');
  }
}

function show(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}
