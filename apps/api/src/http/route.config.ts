import 'reflect-metadata';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import type { FastifyContextConfig } from 'fastify';

/**
 * Extends the configuration of a Fastify route, which hooks read before the body is parsed. Nest passes the configuration of a
 * method to Fastify, so a class decorator adds it to every method of the class. The configuration of a method takes precedence.
 */
export function routeConfig(config: FastifyContextConfig): ClassDecorator & MethodDecorator {
  return (target: object, _name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (descriptor) return extend(descriptor.value as object, (own) => ({ ...own, ...config }));
    const { prototype } = target as { prototype: object };
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== 'constructor' && typeof value === 'function') extend(value, (own) => ({ ...config, ...own }));
    }
  };
}

function extend(method: object, merge: (own: FastifyContextConfig | undefined) => FastifyContextConfig): void {
  const own = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, method) as FastifyContextConfig | undefined;
  Reflect.defineMetadata(FASTIFY_ROUTE_CONFIG_METADATA, merge(own), method);
}
