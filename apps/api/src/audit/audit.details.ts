const URL_START = /^https?:/i;

/** Removes user, password, query and fragment from URLs, because they may contain credentials. */
export function auditDetails(details: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [name, typeof value === 'string' ? withoutSecrets(value) : value]),
  );
}

function withoutSecrets(text: string): string {
  if (!URL_START.test(text) || !URL.canParse(text)) return text;
  const { origin, pathname, search } = new URL(text);
  const path = pathname === '/' ? '' : pathname;
  return `${origin}${path}${search ? '?…' : ''}`;
}
