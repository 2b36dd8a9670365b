import { command, option } from '../command.js';
import { callApi } from '../connection/raw.call.js';
import { CommandError, EXIT, describeFailure, usageError } from '../failure.js';

export const serverCommands = [
  command({
    name: 'start',
    about: 'Start a server in this process.',
    details:
      'All other settings are environment variables, or lines of .env or rollcall.yaml: see docs/configuration.md.',
    example: 'rollcall start --port 8080',
    options: {
      port: option.text('PORT', 'Port to listen on; 0 chooses any free port (default 8080).'),
      host: option.text('ADDRESS', 'Address to listen on (default 127.0.0.1).'),
      databaseUrl: option.text('URL', 'URL of an external Postgres (default: an embedded Postgres).'),
      dataDir: option.text('FOLDER', 'Folder of the embedded Postgres (default .rollcall).'),
      config: option.text('FILE', 'Configuration file (default rollcall.yaml).'),
      logFormat: option.text('FORMAT', 'auto, pretty or json (default auto).'),
    },
    // bin/rollcall.js starts the server without loading the command line, if `start` is the first word
    run: async () => await Promise.reject(usageError('`start` must be the first word: rollcall start [options].')),
  }),
  command({
    name: 'console',
    about: 'Print the address of the web console, with a link that signs you in once.',
    example: 'rollcall console',
    permission: 'self:read',
    run: async ({ connection, io, output }) => {
      const { url, key, namespace } = connection;
      const ticket = {
        method: 'POST',
        path: '/v1/sessions/tickets',
        url,
        key,
        namespace,
        signal: io.signal,
        body: '{}',
      };
      const answer = await callApi(ticket).catch((error: unknown) => {
        throw describeFailure(error).error.code === 'ROUTE_NOT_FOUND' ? noConsole(url) : error;
      });
      const { url: link } = JSON.parse(answer) as { url: string };
      const address = new URL(link, url).href;
      output.note('Open this link in a browser. It signs in once.');
      await output.done(address, { name: () => address }, { url: address });
    },
  }),
];

function noConsole(url: string): CommandError {
  return new CommandError('CONSOLE_NOT_FOUND', `The server at ${url} has no web console.`, EXIT.notFound);
}
