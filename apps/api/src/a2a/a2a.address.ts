/** Which agent a client addresses: in the path, as a tenant of Rollcall, or none of them. */
export interface Address {
  readonly agentId?: string;
  readonly tenant?: string;
}
