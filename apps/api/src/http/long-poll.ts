/** How long a request may wait for a change: shorter than the usual timeouts of clients and proxies. */
export const MAX_WAIT_MS = 50_000;
