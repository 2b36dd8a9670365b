import { z } from 'zod';
import { ApiError } from '../http/problems/api.error.js';

const MAX_FAULTS_LENGTH = 1_000;

export const MAX_PAGE_SIZE = 100;

/** A page size in a query string. */
export const PageSizeSchema = z
  .string()
  .regex(/^\d{1,3}$/)
  .transform(Number)
  .pipe(z.int().min(1).max(MAX_PAGE_SIZE));

/** Rejects an invalid request with all its faults. */
export function readRequest<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw invalid(faults.join('; ').slice(0, MAX_FAULTS_LENGTH));
}

export function invalid(message: string): ApiError {
  return new ApiError('MALFORMED_REQUEST', message);
}
