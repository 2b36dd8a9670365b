import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ApiError } from './api.error.js';
import { replyProblem } from './problem.reply.js';
import { PROBLEMS } from './problem.table.js';

const ABOUT = `The registry, discovery and runtime plane for AI agents.

Every request but those under /health carries \`Authorization: Bearer <API key or JWT>\`. Every error is
\`application/problem+json\` with a stable \`code\`. Every POST may carry an \`Idempotency-Key\`. Lists come in pages:
pass \`nextCursor\` back as \`cursor\`.`;

export function describeApi(app: NestFastifyApplication, version: string): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle('Rollcall')
    .setDescription(ABOUT)
    .setVersion(version)
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      description: 'An API key (rk_…) or a JWT of the configured issuer.',
    })
    .addGlobalResponse({ status: '4XX', description: 'The request was refused.', content: problemContent() })
    .addGlobalResponse({ status: '5XX', description: 'Not now, or our fault.', content: problemContent() });
  const document = SwaggerModule.createDocument(app, builder.build());
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, Problem: PROBLEM_SCHEMA },
  };
  return document;
}

/** What the page loads out of the folder of Swagger UI. The folder has more, which is nobody's business. */
const ASSETS = new Set([
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-16x16.png',
  'favicon-32x32.png',
]);

/** The document at /openapi.json, and a page to read and try it at /docs. The page forgets the key when it is closed. */
export function serveDocs(app: NestFastifyApplication, version: string): void {
  refuseOtherFiles(app);
  SwaggerModule.setup('docs', app, () => describeApi(app, version), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Rollcall API',
    swaggerOptions: { persistAuthorization: false },
  });
}

/** By the route that was found and not by the address, which can be written in many ways. */
function refuseOtherFiles(app: NestFastifyApplication): void {
  const server = app.getHttpAdapter().getInstance();
  server.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.url !== '/docs/*') return done();
    if (ASSETS.has((request.params as { '*': string })['*'])) return done();
    replyProblem(reply, new ApiError('ROUTE_NOT_FOUND', 'The documentation has no such file. Its page is at /docs.'));
  });
}

function problemContent(): Record<string, { schema: { $ref: string } }> {
  return { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
}

const PROBLEM_SCHEMA = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
  properties: {
    type: { type: 'string', example: 'urn:rollcall:problem:validation-failed' },
    title: { type: 'string', example: PROBLEMS.VALIDATION_FAILED.title },
    status: { type: 'integer', example: 400 },
    detail: { type: 'string', example: 'Please correct: name.' },
    code: { type: 'string', enum: Object.keys(PROBLEMS), example: 'VALIDATION_FAILED' },
    requestId: { type: 'string', example: '5c0f3a9e-8a50-4a53-8a54-9c2d8a6a1b7e' },
    retryAfterMs: { type: 'integer', example: 1000 },
    moreErrors: { type: 'integer', example: 283, description: 'How many errors are left out of `errors`.' },
    errors: {
      type: 'array',
      items: { type: 'object', properties: { field: { type: 'string' }, message: { type: 'string' } } },
      example: [{ field: 'name', message: 'name must not be blank' }],
    },
  },
};
