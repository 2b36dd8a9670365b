import type { Rollcall } from '#rollcall/client';
import { CommandError, EXIT } from '../failure.js';

/** A link to the web console that signs in once, within a minute. */
export async function consoleLink(
  { sessions }: Rollcall,
  url: string,
  signal?: AbortSignal,
): Promise<{ link: string; expiresAt: string }> {
  const { ticket, expiresAt } = await sessions.createTicket({});
  const page = new URL('console/', `${url}/`);
  const { status } = await fetch(page, { method: 'HEAD', ...(signal && { signal }) });
  if (status === 404)
    throw new CommandError('CONSOLE_NOT_FOUND', `The server at ${url} has no web console.`, EXIT.notFound);
  return { link: `${page.href}#ticket=${ticket}`, expiresAt };
}
