import { SetMetadata } from '@nestjs/common';
import type { ToolTraits } from './define.tool.js';
import type { ToolInput } from './input/tool.input.js';
import type { Tool as ToolContract } from './tool.js';

export const TOOL = 'rollcall:tool';

export interface ToolOptions extends ToolTraits {
  /** The default is the name of the method. */
  readonly name?: string;
  /** The default is the class of the first parameter, which then has decorators of class-validator. */
  readonly input?: ToolInput;
}

export type Tool = ToolContract;

/**
 * Makes a method of a provider a tool. The method receives the input after validation and a `ToolContext`. All tools of a provider
 * form one toolbox.
 */
export function Tool(options: ToolOptions): MethodDecorator {
  return SetMetadata(TOOL, options);
}
