import { runSuite } from './support/suite.js';

/** All benchmarks with their targets, one after another: `npm run bench:all`, `npm run bench:all -- heartbeat query`. */
await runSuite(
  [
    { name: 'noop', program: 'noop.bench', about: 'an authenticated route' },
    { name: 'heartbeat', program: 'heartbeat.bench', about: 'heartbeats over HTTP' },
    { name: 'sockets', program: 'agent-sockets.bench', about: 'heartbeats over WebSockets' },
    { name: 'register', program: 'register.bench', about: 'registrations and updates' },
    { name: 'query', program: 'query.bench', about: 'queries on a fleet that changes', smallArgs: ['10000'] },
    { name: 'fleet', program: 'fleet.bench', about: 'a fleet without changes', smallArgs: ['20000'] },
    { name: 'events', program: 'events.bench', about: 'delivery of events' },
    { name: 'budget', program: 'budget.bench', about: 'reserve and settle' },
    { name: 'runs', program: 'runs.bench', about: 'durable runs' },
    { name: 'work', program: 'work.bench', about: 'agents that take their tasks', smallArgs: ['2'] },
    { name: 'protocols', program: 'protocols.bench', about: 'A2A and MCP compared with REST', smallArgs: ['2'] },
    { name: 'start', program: 'start.bench', about: 'the second start', smallArgs: ['1a688103', '3'] },
    { name: 'cli', program: 'cli.bench', about: 'the start of the command line' },
    { name: 'specs', program: 'specs.bench', about: 'reading of spec files' },
    {
      name: 'console',
      program: 'console.bench',
      about: 'the web console in a browser',
      smallArgs: ['5000', '1000', '50', '2'],
    },
    { name: 'loop', program: 'loop.bench', about: 'runs of an agent' },
  ],
  process.argv.slice(2),
);
