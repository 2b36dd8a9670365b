import { constants, setPriority } from 'node:os';
import { HostileClient } from './hostile.client.js';
import { type HostileKeys, hostileRequests } from './hostile.requests.js';

/**
 * A separate process with the arguments `<url> <clients> <seconds> <findings, or all> <keys as JSON>`. It has a low priority,
 * because real attackers use other machines and do not take CPU time from nginx and the replicas.
 */
setPriority(constants.priority.PRIORITY_LOW);
const [url = '', clients = '', seconds = '', findings = '', keys = ''] = process.argv.slice(2);
const { hostname, port, host } = new URL(url);
const all = hostileRequests(host, JSON.parse(keys) as HostileKeys);
const requests = findings === 'all' ? all : all.filter(({ finding }) => findings.split(',').includes(finding));
const counts: Record<string, number> = {};
const count = (finding: string, status: string): void => {
  const name = `${finding} ${status}`;
  counts[name] = (counts[name] ?? 0) + 1;
};

const at = { host: hostname, port: Number(port) };
const crowd = Array.from(
  { length: Number(clients) },
  (_, number) => new HostileClient(at, requests, Math.floor((number * requests.length) / Number(clients)), count),
);
for (const client of crowd) client.ask();
setTimeout(
  () => {
    for (const client of crowd) client.stop();
    process.send?.(counts);
    process.disconnect();
  },
  Number(seconds) * 1_000,
);
