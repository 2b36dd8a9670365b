import { createContext, type ReactNode, useContext, useSyncExternalStore } from 'react';
import { type MeView, type Rollcall, rollcallClient, RollcallError } from '#rollcall/client';

export type Permission = MeView['permissions'][number];

/** The only thing that the console stores: the token of the session, for this tab. */
const TOKEN = 'rollcall.session';
/** The console is at `console/` below the API, whatever a proxy adds in front. */
const API = new URL('..', document.baseURI).href;

/** How this page is signed in. Without a token, a proxy in front may add a credential. */
export class SessionStore {
  private readonly listeners = new Set<() => void>();
  private current = { token: sessionStorage.getItem(TOKEN) ?? undefined, ended: undefined as string | undefined };

  get(): { token: string | undefined; ended: string | undefined } {
    return this.current;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Exchanges an API key. The key is not kept. */
  async signIn(key: string): Promise<void> {
    const { token } = await clientWith(key).sessions.open({});
    this.set(token);
  }

  async exchange(ticket: string): Promise<void> {
    const { token } = await clientWith(undefined).sessions.exchangeTicket({ ticket });
    this.set(token);
  }

  async signOut(): Promise<void> {
    const { token } = this.current;
    this.set(undefined);
    if (token !== undefined) await clientWith(token).sessions.end();
  }

  /** The server no longer accepts the session. */
  end(reason: string): void {
    this.set(undefined, reason);
  }

  private set(token: string | undefined, ended?: string): void {
    if (token === undefined) sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, token);
    this.current = { token, ended };
    this.listeners.forEach((listener) => listener());
  }
}

export const session = new SessionStore();

export function useSession(): { token: string | undefined; ended: string | undefined } {
  return useSyncExternalStore(
    (listener) => session.subscribe(listener),
    () => session.get(),
  );
}

export function clientWith(credential: string | undefined, namespace?: string): Rollcall {
  return rollcallClient({
    url: API,
    ...(credential !== undefined && { credential }),
    ...(namespace !== undefined && { namespace }),
    timeoutMs: 20_000,
  });
}

/** The address of the events over a WebSocket. */
export function eventsAddress(ticket: string): string {
  const url = new URL('v1/events/ws', API);
  url.protocol = url.protocol.replace('http', 'ws');
  url.searchParams.set('ticket', ticket);
  return url.href;
}

/** The address of a request, for people who repeat it outside of the console. */
export function apiAddress(path: string): string {
  return new URL(path.replace(/^\//, ''), API).href;
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof RollcallError && error.status === 401;
}

/** Who uses the page, in which namespace, and what the server lets them do. */
export interface Caller {
  readonly api: Rollcall;
  readonly me: MeView;
  readonly namespace: string;
  may(permission: Permission): boolean;
}

const CallerContext = createContext<Caller | undefined>(undefined);

export function CallerProvider({ caller, children }: { caller: Caller; children: ReactNode }): ReactNode {
  return <CallerContext value={caller}>{children}</CallerContext>;
}

export function useCaller(): Caller {
  const caller = useContext(CallerContext);
  if (!caller) throw new Error('nobody is signed in');
  return caller;
}
