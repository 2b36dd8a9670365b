/** Cards of which a test says only what is odd about them. */
export function jsonRpcAt(url: string): object[] {
  return [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
}

export function cardWith(supportedInterfaces: unknown, capabilities: object = {}): string {
  const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] };
  const rest = { name: 'sly', description: '', version: '1', skills: [], ...modes };
  return JSON.stringify({ ...rest, capabilities, supportedInterfaces });
}
