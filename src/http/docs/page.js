// Shows openapi.json. Text is only ever set as text: nothing of the document is taken for markup.
"use strict";

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const reference = (schema) => schema.$ref?.split("/").pop();

// A schema in one line: what one would say of it.
function words(schema = {}) {
  const name = reference(schema);
  if (name) return name;
  const several = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (several) return several.map(words).join(schema.allOf ? " and " : " or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (schema.type === "array") return `list of ${words(schema.items)}`;
  const type = [schema.type ?? "anything"].flat().join(" or ");
  const bounds = ["format", "pattern", "minimum", "maximum", "maxLength", "default"]
    .filter((key) => schema[key] !== undefined)
    .map((key) => `${key} ${schema[key]}`);
  return bounds.length ? `${type} (${bounds.join(", ")})` : type;
}

function table(heads, rows) {
  const line = (cell, values) => element("tr", {}, ...values.map((value) => element(cell, {}, value)));
  return element("table", {}, line("th", heads), ...rows.map((row) => line("td", row)));
}

// The members of a schema, those of its parts and of what it refers to included.
function members(schema, schemas) {
  const name = reference(schema);
  if (name) return members(schemas[name], schemas);
  const parts = [schema.allOf, schema.oneOf, schema.anyOf].flatMap((list) => list ?? []);
  const own = Object.entries(schema.properties ?? {}).map(([key, value]) => [
    element("code", {}, key),
    words(value) + (schema.required?.includes(key) ? "" : ", optional"),
    value.description ?? "",
  ]);
  return own.concat(...parts.map((part) => members(part, schemas)));
}

function body(title, content, schemas) {
  const [kind, { schema = {} } = {}] = Object.entries(content ?? {})[0] ?? [];
  if (!kind) return [];
  const rows = members(schema, schemas);
  const head = element("p", {}, `${title}: ${words(schema)}, `, element("code", {}, kind));
  return rows.length ? [head, table(["member", "is", "meaning"], rows)] : [head];
}

function operation(path, method, about, { schemas, responses: common }) {
  const role = about.security?.flatMap((need) => Object.values(need).flat()).join(" ");
  const parameters = (about.parameters ?? []).map((parameter) => [
    element("code", {}, parameter.name),
    `${parameter.in}: ${words(parameter.schema)}${parameter.required ? "" : ", optional"}`,
    parameter.description ?? "",
  ]);
  const responses = Object.entries(about.responses).map(([status, response]) => [
    element("code", {}, status),
    (common[reference(response)] ?? response).description,
  ]);
  const success = Object.entries(about.responses).find(([status]) => status.startsWith("2"));
  return element(
    "details", { id: about.operationId },
    element(
      "summary", {},
      element("b", { class: "method" }, method.toUpperCase()), " ", element("code", {}, path), " ",
      about.summary ?? "", element("i", { class: "role" }, role || "no token"),
    ),
    ...(about.description ? [element("p", {}, about.description)] : []),
    ...(parameters.length ? [table(["parameter", "is", "meaning"], parameters)] : []),
    ...body("Body", about.requestBody?.content, schemas),
    ...body(`Answer ${success?.[0]}`, success?.[1].content, schemas),
    table(["status", "when"], responses),
  );
}

async function show() {
  const about = document.getElementById("about");
  const answer = await fetch("openapi.json");
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  const api = await answer.json();
  about.replaceChildren(`${api.info.description} The document itself: `, element("a", { href: "openapi.json" }, "openapi.json"));
  const groups = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, of] of Object.entries(methods)) {
      const group = of.tags?.[0] ?? "other";
      groups.set(group, [...(groups.get(group) ?? []), [path, method, of]]);
    }
  }
  for (const [group, operations] of groups) {
    document.getElementById("contents").append(element("a", { href: `#${group}` }, group));
    document.getElementById("operations").append(
      element("h2", { id: group }, group),
      ...operations.map(([path, method, of]) => operation(path, method, of, api.components)),
    );
  }
}

show().catch((error) => document.getElementById("about").append(` ${error}`));
