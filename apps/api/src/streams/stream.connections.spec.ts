import type { CredentialWatch } from '../auth/credentials/credential.watch.js';
import type { Principal } from '../auth/principal.js';
import { type StreamConnection, StreamConnections } from './stream.connections.js';
import type { StreamEnd } from './stream.end.js';

const WATCH = { watch: () => () => undefined } as unknown as CredentialWatch;
const PRINCIPAL = {} as Principal;

class RecordedConnection implements StreamConnection {
  open = true;
  readonly cursor = undefined;
  readonly ends: string[] = [];
  beat(): void {}
  end({ code }: StreamEnd): void {
    this.open = false;
    this.ends.push(code);
  }
}

describe('the open streams of a replica', () => {
  it('a stop ends all of them, and also a stream that opens afterwards', () => {
    const connections = new StreamConnections(WATCH);
    const [before, after] = [new RecordedConnection(), new RecordedConnection()];
    connections.add(PRINCIPAL, before);
    connections.onModuleDestroy();
    connections.add(PRINCIPAL, after);
    expect([before.ends, after.ends]).toEqual([['SHUTTING_DOWN'], ['SHUTTING_DOWN']]);
    expect(connections.count).toBe(0);
  });
});
