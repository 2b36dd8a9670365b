import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage } from 'class-validator';
import type { App } from '../../apps/api/src/app.js';

export type DtoClass = new () => object;

/** `@MessageBody` of a gateway has the same number as `@Body` of a controller. */
const READ = new Set<unknown>([RouteParamtypes.BODY, RouteParamtypes.QUERY, RouteParamtypes.PARAM]);
const PLAIN = new Set<unknown>([Object, String, Number, Boolean, Array]);

/** Returns every class into which a controller or a gateway reads a body, a query, parameters or a message. */
export function receivedDtos({ nest }: App): DtoClass[] {
  const discovery = nest.get(DiscoveryService, { strict: false });
  const gateways = discovery
    .getProviders()
    .filter(({ metatype }) => metatype && Reflect.hasMetadata('websockets:is_gateway', metatype));
  const owners = [...discovery.getControllers(), ...gateways].map(({ metatype }) => metatype as DtoClass);
  return [...new Set(owners.flatMap(dtosOf))];
}

function dtosOf(owner: DtoClass): DtoClass[] {
  const prototype = owner.prototype as Record<string, object>;
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((method) => {
    const types = (Reflect.getMetadata('design:paramtypes', prototype, method) ?? []) as unknown[];
    return [...parameterIndexes(owner, method).map((index) => types[index]), ...documentedBodies(prototype[method])]
      .filter((type): type is DtoClass => typeof type === 'function')
      .filter((type) => !PLAIN.has(type));
  });
}

/** Reads keys such as `3:0`: the kind of the parameter and its index. */
function parameterIndexes(owner: DtoClass, method: string): number[] {
  const declared = (Reflect.getMetadata(ROUTE_ARGS_METADATA, owner, method) ?? {}) as object;
  return Object.keys(declared)
    .map((key) => key.split(':').map(Number))
    .filter(([kind]) => READ.has(kind))
    .map(([, index = 0]) => index);
}

/** Returns the types that `@ApiBody` declares for a handler that reads its body itself. */
function documentedBodies(handler: object | undefined): unknown[] {
  const declared = handler && (Reflect.getMetadata('swagger/apiParameters', handler) as { type?: unknown }[]);
  return (declared ?? []).map(({ type }) => type);
}

/** Returns the properties for which class-validator has rules, including inherited ones. */
export function propertiesOf(dto: DtoClass): string[] {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', true, false);
  return [...new Set(rules.map(({ propertyName }) => propertyName))];
}

/** A property that holds one object of a class of ours, or a list of them. */
export interface NestedProperty {
  readonly dto: DtoClass;
  readonly property: string;
  readonly isList: boolean;
}

/**
 * Returns the properties of a DTO whose type is a class of ours. TypeScript records the type of `Body | null` as `Object`, so the type
 * that class-transformer knows counts, too.
 */
export function nestedPropertiesOf(dto: DtoClass): NestedProperty[] {
  return propertiesOf(dto).flatMap((property) => {
    const declared = Reflect.getMetadata('design:type', dto.prototype as object, property) as unknown;
    const isNested = isOurs(declared) || nestedDtoOf(dto, property) !== undefined;
    return isNested ? [{ dto, property, isList: declared === Array }] : [];
  });
}

/** Returns these classes and all classes nested in them, but not the classes that other suites of the worker have defined. */
export function withNestedDtos(roots: readonly DtoClass[]): DtoClass[] {
  const found = new Set(roots);
  for (const dto of found) for (const nested of nestedDtosOf(dto)) found.add(nested); // the loop visits the added ones, too
  return [...found];
}

function nestedDtosOf(dto: DtoClass): DtoClass[] {
  return propertiesOf(dto).flatMap((property) => nestedDtoOf(dto, property) ?? []);
}

/** Returns the class to which class-transformer converts the property. */
function nestedDtoOf(dto: DtoClass, property: string): DtoClass | undefined {
  const type = defaultMetadataStorage.findTypeMetadata(dto, property)?.typeFunction() as unknown;
  return isOurs(type) ? type : undefined;
}

function isOurs(type: unknown): type is DtoClass {
  return typeof type === 'function' && !PLAIN.has(type);
}
