import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { describeEvents, EVENT_DATA_VIEWS } from '../events/event.data.view.js';
import { EVENT_STREAM_MESSAGES } from '../events/events.dto.js';
import { RUN_STREAM_MESSAGES } from '../runs/run.stream.js';
import { addUnion, classesOf } from './one.of.js';
import { ApiError } from './problems/api.error.js';
import { addProblemExamples, PROBLEM_CONTENT, ProblemView } from './problems/problem.docs.js';
import { replyProblem } from './problems/problem.js';
import { describeStreams } from '../streams/async.document.js';
import { startPageFor } from './console.js';
import { PublicUrl } from './public.url.js';
import { PreparedDocuments } from './prepared.documents.js';

const ABOUT = `Registry, discovery and runtime for AI agents.

[Web console](/console/) · [OpenAPI document](/openapi.json) · [WebSockets and streams as AsyncAPI](/asyncapi.json) · [Health](/health/ready)

The box below filters the sections. **Authorize** takes an API key; **Try it out** then sends the example, which works on a new server if the sections
are used from top to bottom.

Every request needs \`Authorization: Bearer <API key or JWT>\`, except requests to /health, /docs, /openapi.json, /asyncapi.json,
and to public cards and catalogs. Every error response is \`application/problem+json\` with a stable \`code\`. Every request
that changes something accepts an \`Idempotency-Key\`. Lists are paged: send \`nextCursor\` as \`cursor\` to get the next page.`;

const REJECTED =
  'The request is rejected. Codes that every route can return: `VALIDATION_FAILED`, `MALFORMED_REQUEST`, ' +
  '`MALFORMED_JSON`, `BODY_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`, `RATE_LIMITED`, `TOO_MANY_CONCURRENT_REQUESTS`.';
const FAILED =
  'The request failed on the server. Codes that every route can return: `INTERNAL`, `DATABASE_UNAVAILABLE`, ' +
  '`SHUTTING_DOWN`, `TIMED_OUT`.';

/** The sections of the page. A test checks that each tag has an entry here. */
const TAGS = {
  agents: 'Register agents, keep their leases, find them, and operate them.',
  budgets: 'Limit what agents, callers, runs, namespaces and the fleet spend, and reserve an amount before a call.',
  events: 'Follow what happens: pages, server-sent events, snapshots, tickets for WebSockets.',
  webhooks: 'Deliver events to endpoints, and replay them.',
  models: 'Model presets, model vendors and agent providers of this deployment.',
  runtime: 'The agents that Rollcall runs itself: what they can use.',
  runs: 'Start runs of agents, watch them, and cancel them.',
  conversations: 'Read and delete conversations: runs that continue one another.',
  contracts: 'Announce tasks that agents bid for, and award them to the best bid.',
  access: 'API keys, the audit log, and the credential in use.',
  operation: 'Health checks and metrics, for the infrastructure.',
};

/** The OpenAPI document of the API. */
export function describeApi(app: NestFastifyApplication, version: string): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle('Rollcall')
    .setDescription(ABOUT)
    .setVersion(version)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer(`${app.get(PublicUrl, { strict: false }).path}/`)
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      description: 'An API key (`rk_…`), a JWT of the configured issuer, or the lease token (`rl_…`) of an agent.',
    })
    .addGlobalResponse({ status: '4XX', description: REJECTED, content: PROBLEM_CONTENT })
    .addGlobalResponse({ status: '5XX', description: FAILED, content: PROBLEM_CONTENT });
  for (const [name, description] of Object.entries(TAGS)) builder.addTag(name, description);
  const messages = [...classesOf(EVENT_STREAM_MESSAGES), ...classesOf(RUN_STREAM_MESSAGES)];
  const extraModels = [ProblemView, ...EVENT_DATA_VIEWS, ...messages];
  const document = SwaggerModule.createDocument(app, builder.build(), { extraModels });
  addArchiveBody(document);
  describeEvents(document);
  addUnion(document, 'EventStreamMessage', 'event', EVENT_STREAM_MESSAGES);
  addUnion(document, 'RunStreamMessage', 'event', RUN_STREAM_MESSAGES);
  addProblemExamples(document);
  allowNullInEnums(document);
  return document;
}

/** In OpenAPI 3.0, a nullable enum must also list null; otherwise null is invalid, and generated clients do not expect it. */
function allowNullInEnums(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  const { nullable, enum: values } = node as { nullable?: unknown; enum?: unknown };
  if (nullable === true && Array.isArray(values) && !values.includes(null)) {
    (node as { enum: unknown[] }).enum = [...(values as unknown[]), null]; // a new list: the decorators of other properties may have this one
  }
  for (const child of Object.values(node)) allowNullInEnums(child);
}

/** The decorators can describe only one content type of a body. */
function addArchiveBody({ paths }: OpenAPIObject): void {
  const body = paths['/v1/definition-imports']?.post?.requestBody;
  if (body && 'content' in body) body.content['application/gzip'] = { schema: { type: 'string', format: 'binary' } };
}

/** The files of Swagger UI that the page loads. The other files of its folder are not served. */
const ASSETS = new Set([
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-16x16.png',
  'favicon-32x32.png',
]);

/** A change of the document needs another version of Rollcall, so the document is made once. */
const CACHE = { 'cache-control': 'public, max-age=300' };

/** Serves the OpenAPI document at /openapi.json, the AsyncAPI document at /asyncapi.json and Swagger UI at /docs, and redirects / to it or to the console. The page does not store the credential. */
export function serveDocs(app: NestFastifyApplication, version: string, hasConsole: boolean): void {
  rejectOtherFiles(app);
  const documents = app.get(PreparedDocuments);
  let described: OpenAPIObject | undefined;
  const describe = (): OpenAPIObject => (described ??= describeApi(app, version));
  const server = app.getHttpAdapter().getInstance();
  server.get('/', { config: { access: 'public', undocumented: true } }, ({ headers }, reply) =>
    reply.redirect(startPageFor(headers.accept, hasConsole)),
  );
  server.get('/openapi.json', { config: { access: 'public' } }, async (_request, reply) => {
    const request = { kind: 'openapi', source: describe, key: '', headers: CACHE };
    await documents.send(reply, request, () => ({ body: describe() }));
    return await reply;
  });
  server.get('/asyncapi.json', { config: { access: 'public' } }, async (_request, reply) => {
    const request = { kind: 'asyncapi', source: describe, key: 'asyncapi', headers: CACHE };
    await documents.send(reply, request, () => ({ body: describeStreams(describe()) }));
    return await reply;
  });
  SwaggerModule.setup('docs', app, describe, {
    raw: [],
    customSiteTitle: 'Rollcall API',
    customCss: '.swagger-ui .topbar { display: none }', // the logo of Swagger and a field for other documents
    swaggerOptions: { persistAuthorization: false, filter: true },
  });
}

/** Compares the matched route instead of the path, because one path can be encoded in many ways. */
function rejectOtherFiles(app: NestFastifyApplication): void {
  const server = app.getHttpAdapter().getInstance();
  server.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.url !== '/docs/*') return done();
    if (ASSETS.has((request.params as { '*': string })['*'])) return done();
    replyProblem(reply, new ApiError('ROUTE_NOT_FOUND', 'The documentation has no such file. Its page is at /docs.'));
  });
}
