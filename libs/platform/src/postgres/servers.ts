import { Client, type ClientConfig } from 'pg';

const PARTS = /^(?<scheme>postgres(?:ql)?:\/\/)(?<user>[^@/?]*@)?(?<hosts>[^/?]*)(?<rest>.*)$/;
/** SQLSTATE of a write on a server that only reads. */
const READ_ONLY = '25006';
/** Postgres reports these settings when a connection opens, and when they change. */
const READ_ONLY_SETTINGS = new Set(['in_hot_standby', 'default_transaction_read_only']);

/** The function of Postgres that waits for the synchronous standby. Its name does not depend on the language of the messages. */
const WAIT_FOR_STANDBY = 'SyncRepWaitForLSN';

interface ParameterStatus {
  parameterName: string;
  parameterValue: string;
}

/** What this file uses of the connection of a client, which node-postgres does not type. */
interface Connection {
  on(event: 'readyForQuery' | 'end', listener: () => void): void;
  on(event: 'notice', listener: (notice: { routine?: string }) => void): void;
  on(event: 'parameterStatus', listener: (status: ParameterStatus) => void): void;
  removeAllListeners(event: string): void;
  emit(event: 'error', error: Error): void;
  stream: { destroy(): void };
}

/** One URL for each server that a URL names, as in `postgresql://user@one:5432,other:5432/rollcall` or `…?host=/one,/other`. */
export function serversIn(url: string): string[] {
  const { scheme = '', user = '', hosts = '', rest = '' } = PARTS.exec(url)?.groups ?? {};
  if (hosts.includes(',')) return hosts.split(',').map((host) => scheme + user + host + rest);
  const query = URL.canParse(url) ? new URL(url).searchParams.get('host') : null;
  if (!query?.includes(',')) return [url];
  return query.split(',').map((host) => {
    const one = new URL(url);
    one.searchParams.set('host', host);
    return one.href;
  });
}

/** The server accepts no writes: it is a standby, or was the primary before. */
class ReadOnlyServerError extends Error {
  readonly code = READ_ONLY;

  constructor() {
    super('the server is read-only: it is a standby, or no longer the primary');
  }
}

/**
 * The synchronous standby has not confirmed a commit in time. Postgres reports this as a warning only, and the commit as successful; but
 * the standby may already be the primary, without this commit.
 */
class NotReplicatedError extends Error {
  /** SQLSTATE of a transaction whose result is unknown. */
  readonly code = '08007';

  constructor() {
    super('the synchronous standby has not confirmed the commit');
  }
}

/**
 * The servers of a cluster, of which one accepts writes. All connections use the same server until it fails or is read-only; then
 * they use the next one.
 */
export class PostgresServers {
  private readonly urls: readonly string[];
  private current = 0;
  /** How to close each open connection, with the server that it leads to. */
  private readonly open = new Map<(reason: Error) => void, string>();

  constructor(url: string) {
    this.urls = serversIn(url);
  }

  get count(): number {
    return this.urls.length;
  }

  get url(): string {
    return this.urls[this.current];
  }

  /** Later connections use the next server, unless another connection has decided so already. */
  leave(url: string): void {
    if (url === this.url) this.current = (this.current + 1) % this.urls.length;
  }

  /** Closes all connections to a server that must not be used: it may contain changes that the new primary does not have. */
  abandon(url: string, reason: Error): void {
    this.leave(url);
    for (const [close, server] of this.open) if (server === url) close(reason);
  }

  opened(url: string, close: (reason: Error) => void): void {
    this.open.set(close, url);
  }

  closed(close: (reason: Error) => void): void {
    this.open.delete(close);
  }
}

/**
 * The class of the clients that connect to the current server. A client leaves the server, and is closed, when the server does not accept it,
 * is or becomes read-only, or cannot replicate a commit, which then fails. Then all other clients of that server are closed too.
 */
export function clientOf(servers: PostgresServers): typeof Client {
  return class extends Client {
    constructor(config?: string | ClientConfig) {
      const server = servers.url;
      super({ ...(config as ClientConfig), connectionString: server });
      const { connection } = this as unknown as { connection: Connection };
      let isAccepted = false;
      connection.on('readyForQuery', () => (isAccepted = true));
      const close = (reason: Error): void => {
        connection.removeAllListeners('readyForQuery'); // it may follow in the same packet, and the client would count as connected
        connection.emit('error', reason);
        connection.stream.destroy();
      };
      servers.opened(server, close);
      connection.on('end', () => {
        servers.closed(close);
        if (!isAccepted) servers.leave(server);
      });
      connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
        if (READ_ONLY_SETTINGS.has(parameterName) && parameterValue === 'on')
          servers.abandon(server, new ReadOnlyServerError());
      });
      connection.on('notice', ({ routine }) => {
        if (routine === WAIT_FOR_STANDBY) servers.abandon(server, new NotReplicatedError());
      });
    }
  };
}

/** The URL of the first server that accepts writes. Throws the error of the last one if there is none. */
export async function findWritable(url: string, config: ClientConfig): Promise<string> {
  const servers = new PostgresServers(url);
  for (let attempt = 1; ; attempt += 1) {
    const server = servers.url;
    const client = new (clientOf(servers))(config);
    client.on('error', () => undefined); // `connect` rejects too
    try {
      await client.connect();
      await client.end();
      return server;
    } catch (error) {
      if (attempt >= servers.count) throw error;
      servers.leave(server);
    }
  }
}
