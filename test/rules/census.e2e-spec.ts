import { Controller, Get, Post } from '@nestjs/common';
import { Permit } from '../../apps/api/src/auth/route.access.js';
import { startApi, type TestApi } from '../support/api.js';
import { declaredRoutes, type RouteFacts, routesOf } from '../support/route-census.js';

/** Every route, who may call it, and the name of its act in the audit log. A new route is added here, by hand. */
const CENSUS: RouteFacts[] = [
  { route: 'DELETE /v1/keys/:id', access: 'keys:manage', mutation: 'key.revoked' },
  { route: 'GET /health/live', access: 'public' },
  { route: 'GET /health/ready', access: 'public' },
  { route: 'GET /metrics', access: 'metrics:read' },
  { route: 'GET /v1/audit', access: 'audit:read' },
  { route: 'GET /v1/keys', access: 'keys:manage' },
  { route: 'GET /v1/keys/:id', access: 'keys:manage' },
  { route: 'GET /v1/me', access: 'self:read' },
  { route: 'GET /v1/models', access: 'models:read' },
  { route: 'GET /v1/models/resolve', access: 'models:read' },
  { route: 'POST /v1/keys', access: 'keys:manage', mutation: 'key.issued' },
  { route: 'POST /v1/keys/:id/rotate', access: 'keys:manage', mutation: 'key.rotated' },
];

/** Served by libraries beside our controllers: the documentation, which is public. */
const BESIDE = [/^GET \/docs/, /^GET \/openapi\.json$/];

let api: TestApi;
beforeAll(async () => void (api = await startApi()));
afterAll(async () => await api.stop());

const prefix = (path: string): string => (/^\/(health\/|metrics$)/.test(path) ? path : `/v1${path}`);

describe('the census of routes', () => {
  it('lists every route with its permission', () => {
    expect(declaredRoutes(api.app, prefix)).toEqual(CENSUS);
  });

  it('knows every route the server really has', () => {
    const served = api.app.routes
      .all()
      .filter((route) => !route.startsWith('HEAD ') && !BESIDE.some((known) => known.test(route)));
    expect(served.toSorted()).toEqual(CENSUS.map(({ route }) => route).toSorted());
  });

  it('finds a route without a permission', () => {
    expect(undeclared(routesOf(ForgetfulController, prefix))).toEqual(['GET /v1/forgetful']);
    expect(undeclared(CENSUS)).toEqual([]);
  });

  it('finds a change that is not made as a mutation', () => {
    expect(unguarded(routesOf(ForgetfulController, prefix))).toEqual(['POST /v1/forgetful']);
    expect(unguarded(CENSUS)).toEqual([]);
  });

  it('is what the guard enforces: without a credential nothing but the public routes answers', async () => {
    for (const { route, access } of CENSUS) {
      const [method = '', path = ''] = route.split(' ');
      const { status } = await api.call(method, path.replace(':id', 'x'), { key: null });
      expect({ route, status }).toEqual({ route, status: access === 'public' ? 200 : 401 });
    }
  });
});

@Controller('forgetful')
class ForgetfulController {
  @Get()
  get(): string {
    return 'who may call me?';
  }

  @Post()
  @Permit('self:read')
  post(): string {
    return 'and what if I am called twice?';
  }
}

const undeclared = (facts: RouteFacts[]): string[] =>
  facts.filter(({ access }) => access === 'UNDECLARED').map(({ route }) => route);

const unguarded = (facts: RouteFacts[]): string[] =>
  facts.filter(({ route, mutation }) => !route.startsWith('GET ') && mutation === undefined).map(({ route }) => route);
