import { applyDecorators } from '@nestjs/common';
import {
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  ApiSchema,
  getSchemaPath,
  type OpenAPIObject,
} from '@nestjs/swagger';
import type { FieldError } from './api.error.js';
import { type ErrorCode, PROBLEMS } from './problem.table.js';

class FieldErrorView implements FieldError {
  @ApiProperty({ example: 'budget.totalTokens', description: 'The path of the field.' }) field: string;
  @ApiProperty({ example: 'totalTokens must be an integer number', description: 'What is wrong with the field.' })
  message: string;
}

/** Without the last three numbers for the budget of the fleet, because they show what other namespaces spend. */
@ApiSchema({ name: 'ExhaustedBudget' })
class ExhaustedBudgetView {
  @ApiProperty({ example: '42', description: 'The id.' }) id: string;
  @ApiProperty({ enum: ['agent', 'caller', 'run', 'namespace', 'fleet'], description: 'What the budget limits.' })
  kind: string;
  @ApiProperty({ example: 'builder-01', description: 'The subject.' }) subject: string;
  @ApiProperty({ enum: ['total', 'daily', 'monthly'], description: 'The period.' }) window: string;
  @ApiProperty({ enum: ['tokens', 'microUsd'], description: 'The unit that is exhausted.' }) unit: string;
  @ApiPropertyOptional({ type: 'integer', nullable: true, example: 500, description: 'The limit.' })
  limit?: number | null;
  @ApiPropertyOptional({ type: 'integer', example: 500, description: 'What is used.' }) used?: number;
  @ApiPropertyOptional({ type: 'integer', example: 0, description: 'What is reserved.' }) reserved?: number;
}

@ApiSchema({
  name: 'Problem',
  description: 'An error, as defined in RFC 9457. Programs should compare `code`; the texts may change.',
})
export class ProblemView {
  @ApiProperty({ example: 'urn:rollcall:problem:validation-failed', description: 'The code as a URI.' }) type: string;
  @ApiProperty({
    example: PROBLEMS.VALIDATION_FAILED.title,
    description: 'The same text for every error with this code.',
  })
  title: string;
  @ApiProperty({ type: 'integer', example: 400, description: 'The status of the response.' }) status: number;
  @ApiProperty({ example: 'Please correct: name.', description: 'What happened, and what to do.' }) detail: string;
  @ApiProperty({
    enum: Object.keys(PROBLEMS),
    example: 'VALIDATION_FAILED',
    description: 'The stable code, for programs.',
  })
  code: ErrorCode;
  @ApiProperty({
    example: '5c0f3a9e-8a50-4a53-8a54-9c2d8a6a1b7e',
    description: 'Include this request id when you report the problem.',
  })
  requestId: string;
  @ApiPropertyOptional({ type: 'integer', example: 1_000, description: 'Repeat the request after this time.' })
  retryAfterMs?: number;
  @ApiPropertyOptional({ type: [FieldErrorView], description: 'VALIDATION_FAILED: the fields to correct.' })
  errors?: FieldErrorView[];
  @ApiPropertyOptional({ type: 'integer', example: 283, description: 'How many errors `errors` leaves out.' })
  moreErrors?: number;
  @ApiPropertyOptional({
    example: '/v1/events/snapshot',
    description:
      'If you cannot continue from the cursor: read the snapshot at this path, then continue from its `cursor`.',
  })
  snapshot?: string;
  @ApiPropertyOptional({
    example: '812',
    description: 'CURSOR_EXPIRED: the earliest `sequence` that works as a cursor.',
  })
  oldest?: string;
  @ApiPropertyOptional({ example: '1042', description: 'CURSOR_AHEAD, CURSOR_FOREIGN: the newest `sequence`.' })
  head?: string;
  @ApiPropertyOptional({ example: 'evicted', description: 'REGISTER_AGAIN: why the agent left, if known.' })
  reason?: string;
  @ApiPropertyOptional({
    type: ExhaustedBudgetView,
    description: 'BUDGET_EXHAUSTED: the budget that does not allow the reservation.',
  })
  budget?: ExhaustedBudgetView;
  @ApiPropertyOptional({ type: 'integer', example: 600, description: 'BUDGET_EXHAUSTED: what was requested.' })
  asked?: number;
  @ApiPropertyOptional({ type: 'integer', example: 1_000, description: 'The limit that the request exceeds.' })
  limit?: number;
}

/** The body of every error response. */
export const PROBLEM_CONTENT = { 'application/problem+json': { schema: { $ref: getSchemaPath(ProblemView) } } };

/** Error codes with the sentence that explains each code for a route. */
type Explained = Partial<Record<ErrorCode, string>>;

/**
 * Documents errors of a route, or of all routes of a controller. Nest joins the texts of several decorators for one status;
 * a status on a method replaces the same status on its controller.
 */
export function Problems(...codes: (ErrorCode | Explained)[]): MethodDecorator & ClassDecorator {
  const explained: Explained = Object.assign({}, ...codes.map(explain));
  const responses = Object.entries(explained).map(([code, text]) => {
    const { status } = PROBLEMS[code as ErrorCode];
    return ApiResponse({ status, description: `\`${code}\`: ${text}`, content: PROBLEM_CONTENT });
  });
  return applyDecorators(...responses);
}

function explain(code: ErrorCode | Explained): Explained {
  return typeof code === 'string' ? { [code]: `${PROBLEMS[code].title}.` } : code;
}

/** Gives each error of each operation an example of its own, which contains only the fields that every error has (N-7). */
export function addProblemExamples({ paths, components }: OpenAPIObject): void {
  const used = new Set<string>();
  for (const operation of Object.values(paths).flatMap((item) => Object.values(item) as { responses?: object }[])) {
    for (const response of Object.values(operation.responses ?? {}) as DocumentedProblem[]) {
      const content = response.content?.['application/problem+json'];
      const codes = [...(response.description ?? '').matchAll(/`([A-Z_]+)`/g)].map(([, code = '']) => code);
      const known = codes.filter((code) => Object.hasOwn(PROBLEMS, code));
      if (!content || known.length === 0) continue;
      for (const code of known) used.add(code);
      const examples = Object.fromEntries(known.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
      response.content = { 'application/problem+json': { ...content, examples } };
    }
  }
  if (!components) return;
  const all = [...used].toSorted().map((code) => [code, exampleOf(code as ErrorCode)] as const);
  components.examples = { ...components.examples, ...Object.fromEntries(all) };
}

interface DocumentedProblem {
  description?: string;
  content?: Record<string, { schema?: object; examples?: object }>;
}

function exampleOf(code: ErrorCode): { summary: string; value: Pick<ProblemView, keyof typeof ALWAYS> } {
  const { status, title } = PROBLEMS[code];
  const type = `urn:rollcall:problem:${code.toLowerCase().replaceAll('_', '-')}`;
  return { summary: title, value: { ...ALWAYS, type, title, status, code, detail: `${title}.` } };
}

/** The fields that every error has. */
const ALWAYS = {
  type: '',
  title: '',
  status: 0,
  detail: '',
  code: 'INTERNAL',
  requestId: '5c0f3a9e-8a50-4a53-8a54-9c2d8a6a1b7e',
} satisfies Partial<ProblemView>;

/** The table of docs/errors.md. */
export function problemTable(): string {
  const rows = Object.entries(PROBLEMS).map(([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`);
  return ['| code | status | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}
