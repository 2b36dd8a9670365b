import { z } from 'zod';
import { DURATION_FORMAT, duration, integer, list, setting } from './setting.js';

export const mcp = z.strictObject({
  allowedHosts: setting(list([]), {
    env: 'ROLLCALL_MCP_ALLOWED_HOSTS',
    about:
      'Further host names, without a port, that MCP clients may send in `Host`. The name in `ROLLCALL_PUBLIC_URL`, the name in `HOST` and this machine (`localhost`, `127.0.0.1`, `[::1]`) are always allowed.',
    expects: 'host names separated by commas',
  }),
  allowedOrigins: setting(list([]), {
    env: 'ROLLCALL_MCP_ALLOWED_ORIGINS',
    about:
      'Further host names of web pages, without a scheme and a port, that may call MCP from a browser (`Origin`). Pages of all hosts that are allowed in `Host` may always call MCP. Requests without `Origin` are accepted, because they do not come from a page.',
    expects: 'host names separated by commas',
  }),
  wait: setting(duration('45s'), {
    env: 'ROLLCALL_MCP_WAIT',
    about:
      'How long a tool call waits for its run. After this time, the client gets a task, or the id of the run. Must be shorter than the timeout of clients and proxies (usually 60s).',
    expects: DURATION_FORMAT,
    defaultText: '45s',
  }),
  subscriptions: setting(integer(0, 1_000_000, 1_000), {
    env: 'ROLLCALL_MCP_SUBSCRIPTIONS',
    about: 'Maximum number of MCP subscriptions to changes that a replica serves at the same time.',
    expects: 'a whole number from 0 to 1000000',
  }),
});
