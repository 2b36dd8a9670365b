/** The agent that a client addresses: with `agentId` in the path, with `tenant`, or neither, which addresses Rollcall itself. */
export interface Address {
  readonly agentId?: string;
  readonly tenant?: string;
}
