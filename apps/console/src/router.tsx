import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from '@tanstack/react-router';
import { Root } from './shell/root.js';
import type { QueryBody } from '#rollcall/client';
import { NotFound } from './shell/not-found.js';

/** Filters are in the address. Values of the wrong type are dropped. */
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;
const whole = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? (value as number) : undefined);
const defined = <Key extends string, Value = string>(
  values: Record<Key, Value | undefined>,
): Partial<Record<Key, Value>> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<Record<Key, Value>>;

const object = (value: unknown): object | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  validateSearch: ({ ns }: Record<string, unknown>) => defined({ ns: text(ns) }),
  search: { middlewares: [retainSearchParams(['ns'])] },
});

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('./screens/overview.js'), 'Overview'),
});

const fleet = createRoute({
  getParentRoute: () => root,
  path: '/fleet',
  validateSearch: ({ status, circuit, q }: Record<string, unknown>) =>
    defined({ status: text(status), circuit: text(circuit), q: text(q) }),
  component: lazyRouteComponent(() => import('./screens/fleet.js'), 'Fleet'),
});
const agent = createRoute({
  getParentRoute: () => root,
  path: '/agents/$agentId',
  component: lazyRouteComponent(() => import('./screens/agent.js'), 'Agent'),
});

const who = createRoute({
  getParentRoute: () => root,
  path: '/who',
  validateSearch: ({ query, about }: Record<string, unknown>): { query?: QueryBody; about?: string } => {
    const body = object(query);
    return { ...(body && { query: body }), ...defined({ about: text(about) }) };
  },
  component: lazyRouteComponent(() => import('./screens/who/who.js'), 'Who'),
});

const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: ({ state, agent: name }: Record<string, unknown>) =>
    defined({ state: text(state), agent: text(name) }),
  component: lazyRouteComponent(() => import('./screens/runs.js'), 'Runs'),
});
const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  component: lazyRouteComponent(() => import('./screens/run.js'), 'Run'),
});

const definitions = createRoute({
  getParentRoute: () => root,
  path: '/definitions',
  component: lazyRouteComponent(() => import('./screens/definitions/definitions.js'), 'Definitions'),
});
const newDefinition = createRoute({
  getParentRoute: () => root,
  path: '/new-definition',
  component: lazyRouteComponent(() => import('./screens/definitions/new-definition.js'), 'NewDefinition'),
});
const definition = createRoute({
  getParentRoute: () => root,
  path: '/definitions/$name',
  validateSearch: ({ from, to }: Record<string, unknown>) => defined({ from: whole(from), to: whole(to) }),
  component: lazyRouteComponent(() => import('./screens/definitions/definition.js'), 'Definition'),
});

const contracts = createRoute({
  getParentRoute: () => root,
  path: '/contracts',
  component: lazyRouteComponent(() => import('./screens/contracts/contracts.js'), 'Contracts'),
});
const contract = createRoute({
  getParentRoute: () => root,
  path: '/contracts/$contractId',
  component: lazyRouteComponent(() => import('./screens/contracts/contract.js'), 'Contract'),
});

const history = createRoute({
  getParentRoute: () => root,
  path: '/history',
  validateSearch: ({ kind, agent: name, before }: Record<string, unknown>) => ({
    ...defined({ kind: text(kind), agent: text(name) }),
    ...defined({ before: whole(before) }),
  }),
  component: lazyRouteComponent(() => import('./screens/history/history.js'), 'History'),
});
const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: ({ action, actor, target }: Record<string, unknown>) =>
    defined({ action: text(action), actor: text(actor), target: text(target) }),
  component: lazyRouteComponent(() => import('./screens/history/audit.js'), 'Audit'),
});
const access = createRoute({
  getParentRoute: () => root,
  path: '/access',
  component: lazyRouteComponent(() => import('./screens/access/access.js'), 'Access'),
});
const tryIt = createRoute({
  getParentRoute: () => root,
  path: '/try',
  validateSearch: ({ definition: name, agent: agentId, conversation }: Record<string, unknown>) => ({
    ...defined({ definition: text(name), conversation: text(conversation) }),
    // an agent that is still to be named is an empty text
    ...defined({ agent: agentId === '' ? '' : text(agentId) }),
  }),
  component: lazyRouteComponent(() => import('./screens/chat/chat.js'), 'TryIt'),
});

const budgets = createRoute({
  getParentRoute: () => root,
  path: '/budgets',
  validateSearch: ({ subject }: Record<string, unknown>) => defined({ subject: text(subject) }),
  component: lazyRouteComponent(() => import('./screens/budgets/budgets.js'), 'Budgets'),
});
const budget = createRoute({
  getParentRoute: () => root,
  path: '/budgets/$budgetId',
  component: lazyRouteComponent(() => import('./screens/budgets/budget.js'), 'Budget'),
});

const routes = root.addChildren([
  overview,
  fleet,
  agent,
  who,
  runs,
  run,
  tryIt,
  budgets,
  budget,
  definitions,
  newDefinition,
  definition,
  contracts,
  contract,
  history,
  audit,
  access,
]);

export const router = createRouter({ routeTree: routes, history: createHashHistory(), defaultPreload: false });

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The label of the action whose dialog opens. */
    open?: string;
  }
  interface Register {
    router: typeof router;
  }
}
