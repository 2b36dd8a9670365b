/** The agent that a client addresses, by `agentId` in the path or by `tenant`. Without either, the client addresses Rollcall itself. */
export interface Address {
  readonly agentId?: string;
  readonly tenant?: string;
}
