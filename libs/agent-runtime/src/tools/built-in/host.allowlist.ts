/** Whether the host is on the list. `*.example.com` means all hosts below `example.com`. An empty list allows all hosts. */
export function isHostAllowed(hostname: string, allowed: readonly string[]): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  return allowed.length === 0 || allowed.some((entry) => matches(entry.toLowerCase(), host));
}

function matches(entry: string, host: string): boolean {
  return entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : host === entry;
}
