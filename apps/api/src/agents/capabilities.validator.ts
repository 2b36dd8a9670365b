import { applyDecorators } from '@nestjs/common';
import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, IsString, Matches } from 'class-validator';
import { normaliseCapability } from '#rollcall/registry';

/** Nothing that is only punctuation, or has it at its ends: its normal form would be another, or none. */
const CAPABILITY = /^[^\s._\p{Cc}](?:\P{Cc}{0,98}[^\s._\p{Cc}])?$/u;
/** An agent stands in the index under every level of every claim. */
const MOST_LEVELS = 16;
const LEVELS = new RegExp(`^[^.]*(?:\\.[^.]*){0,${MOST_LEVELS - 1}}$`);

/** What an agent may claim: each once, however it is spelled. */
export function IsCapabilities(): PropertyDecorator {
  return applyDecorators(
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(200),
    ArrayUnique((text: unknown) => (typeof text === 'string' ? normaliseCapability(text) : text), {
      message: 'capabilities must each be there once, however they are spelled',
    }),
    IsString({ each: true }),
    Matches(CAPABILITY, {
      each: true,
      message:
        'each capability must have 1 to 100 characters, no control character, and no dot, blank or underscore at its ends',
    }),
    Matches(LEVELS, { each: true, message: `each capability may have ${MOST_LEVELS} levels at the most` }),
  );
}
