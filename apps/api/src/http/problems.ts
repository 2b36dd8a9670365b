import { applyDecorators } from '@nestjs/common';
import { ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { type ErrorCode, PROBLEMS } from './problem.table.js';
import { ProblemView } from './problem.view.js';

/** Error codes with the sentence that explains each code for a route. */
type Explained = Partial<Record<ErrorCode, string>>;

/** The body of every error response. */
export const PROBLEM_CONTENT = { 'application/problem+json': { schema: { $ref: getSchemaPath(ProblemView) } } };

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
