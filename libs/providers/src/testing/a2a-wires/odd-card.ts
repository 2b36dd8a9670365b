/** Returns the interfaces of a card with one JSON-RPC interface. */
export function jsonRpcAt(url: string): object[] {
  return [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
}

/** Returns a card as JSON. A test sets only the fields that it needs. */
export function cardWith(supportedInterfaces: unknown, capabilities: object = {}): string {
  const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] };
  const rest = { name: 'test', description: '', version: '1', skills: [], ...modes };
  return JSON.stringify({ ...rest, capabilities, supportedInterfaces });
}
